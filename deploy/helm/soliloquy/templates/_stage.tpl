{{/* The template of a service's pods, from what files/stages.yaml and the values say of it: (list $ "student"). */}}
{{- define "soliloquy.stage.template" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $stage := index ($root.Files.Get "files/stages.yaml" | fromYaml) $name -}}
{{- $settings := include "soliloquy.settings" . | fromYaml -}}
{{- $annotations := deepCopy $settings.annotations -}}
{{- if and $stage.model $root.Values.model.settings -}}
{{- $_ := set $annotations "checksum/models" (sha256sum $root.Values.model.settings) -}}
{{- end -}}
metadata:
  labels:
    {{- include "soliloquy.labels" (list $root $name $settings.labels) | nindent 4 }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "soliloquy.podSecurity" $root | nindent 2 }}
  {{- include "soliloquy.placement" (dict "root" $root "component" $name "settings" $settings) | nindent 2 }}
  {{- if eq $name "executor" }}
  {{- include "soliloquy.executor.pod" $root | nindent 2 }}
  {{- end }}
  # What runs may take, what closes connections, and the pause before both.
  terminationGracePeriodSeconds: {{ add $settings.drainSeconds 15 }}
  containers:
    - name: {{ $name }}
      image: {{ include "soliloquy.image" (list $root (ternary "executor" "workers" (eq $name "executor"))) }}
      imagePullPolicy: {{ $root.Values.images.pullPolicy }}
      args:
        - service
        - {{ $name }}
        - --http=0.0.0.0:9090
        - --grace={{ int $settings.drainSeconds }}s
        {{- if and $settings.maxInFlight (ne $name "gateway") }}
        - --max-in-flight={{ int $settings.maxInFlight }}
        {{- end }}
        {{- include (printf "soliloquy.%s.args" (ternary $name "stage" (has $name (list "executor" "collector" "gateway")))) $root | nindent 8 }}
      env:
        {{- include "soliloquy.once" (concat (include "soliloquy.stage.env" . | fromYamlArray) ($settings.env | default list)) | nindent 8 }}
      {{- $stored := ternary $root.Values.dataset.existingSecret "" (has $name (list "collector" "gateway")) }}
      {{- $remembered := ternary $root.Values.gateway.database.existingSecret "" (eq $name "gateway") }}
      {{- with list $stored $remembered | uniq | compact }}
      envFrom:
        {{- range . }}
        - secretRef: {name: {{ . }}}
        {{- end }}
      {{- end }}
      ports:
        - {name: http, containerPort: 9090}
        {{- if and (eq $name "executor") (include "soliloquy.gateway.enabled" $root) }}
        - {name: grpc, containerPort: 50051}
        {{- end }}
        {{- if eq $name "gateway" }}
        - {name: public, containerPort: 8080}
        - {name: grpc, containerPort: 8081}
        {{- end }}
      # Alive while it answers, ready while it consumes.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
      lifecycle:
        # Who scrapes it hears of the end before it comes.
        preStop: {sleep: {seconds: 5}}
      resources:
        {{- toYaml $settings.resources | nindent 8 }}
      {{- if and (eq $name "executor") (eq $root.Values.sandbox.mode "nested") }}
      {{- include "soliloquy.executor.containerSecurity" $root | nindent 6 }}
      {{- else }}
      {{- include "soliloquy.containerSecurity" $root | nindent 6 }}
      {{- end }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        {{- with include "soliloquy.kafka.mount" . }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- if and $stage.model $root.Values.model.settings }}
        - {name: models, mountPath: /etc/soliloquy/models, readOnly: true}
        {{- end }}
        {{- if and (eq $name "collector") (not (include "soliloquy.inTables" $root)) }}
        - {name: data, mountPath: /data}
        {{- end }}
        {{- if include "soliloquy.sandbox.secret" . }}
        - {name: sandbox-tls, mountPath: /etc/soliloquy/sandbox-tls, readOnly: true}
        {{- end }}
        {{- if eq $name "gateway" }}
        {{- with include "soliloquy.gateway.mounts" $root }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- end }}
        {{- with $settings.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {sizeLimit: {{ $settings.temporary }}}
    {{- with include "soliloquy.kafka.volume" . }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- if and $stage.model $root.Values.model.settings }}
    - name: models
      configMap: {name: {{ include "soliloquy.fullname" $root }}-models}
    {{- end }}
    {{- if and (eq $name "collector") (not (include "soliloquy.inTables" $root)) $root.Values.dataset.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: {claimName: {{ $root.Values.dataset.persistence.existingClaim }}}
    {{- end }}
    {{- with include "soliloquy.sandbox.secret" . }}
    - name: sandbox-tls
      secret: {secretName: {{ . }}, defaultMode: 0440}
    {{- end }}
    {{- if eq $name "gateway" }}
    {{- with include "soliloquy.gateway.volumes" $root }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- end }}
    {{- with $settings.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* What a service is told by its environment: (list $ "student"). */}}
{{- define "soliloquy.stage.env" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- include "soliloquy.kafka.env" . }}
- {name: SOLILOQUY_KAFKA_WAIT, value: {{ $root.Values.kafka.wait }}}
- {name: SOLILOQUY_LOG_FORMAT, value: {{ $root.Values.logFormat }}}
{{- /* The manifests of datasets name it. */}}
- {name: SOLILOQUY_IMAGE, value: {{ include "soliloquy.image" (list $root (ternary "executor" "workers" (eq $name "executor"))) | quote }}}
{{- if (index ($root.Files.Get "files/stages.yaml" | fromYaml) $name).model }}
{{ include "soliloquy.model.env" $root | trim }}
{{- end }}
{{- with $root.Values.gateway.webhooks }}
{{- if and (eq $name "gateway") .urls }}
- name: SOLILOQUY_WEBHOOK_SECRET
  valueFrom: {secretKeyRef: {name: {{ required "gateway.webhooks.urls requires gateway.webhooks.existingSecret" .existingSecret }}, key: {{ .key }}}}
{{- end }}
{{- end }}
{{- if and (eq $name "gateway") $root.Values.sandbox.tls.gatewaySecret }}
- {name: SOLILOQUY_CA_FILE, value: /etc/soliloquy/sandbox-tls/ca.crt}
- {name: SOLILOQUY_CERTIFICATE_FILE, value: /etc/soliloquy/sandbox-tls/tls.crt}
- {name: SOLILOQUY_KEY_FILE, value: /etc/soliloquy/sandbox-tls/tls.key}
{{- end }}
{{- if and (eq $name "collector") (not (include "soliloquy.inTables" $root)) }}
{{- /* It keeps its name: a start anew makes nobody wait for the group. */}}
- name: SOLILOQUY_KAFKA_INSTANCE
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- end }}
{{- /* The executor reaches no collector. */}}
{{- if and $root.Values.traces.url (ne $name "executor") }}
- {name: SOLILOQUY_TRACES, value: {{ $root.Values.traces.url | quote }}}
- {name: SOLILOQUY_TRACE_SHARE, value: {{ $root.Values.traces.share | quote }}}
{{- end }}
{{- end }}

{{- define "soliloquy.stage.args" -}}
{{- end }}

{{- define "soliloquy.executor.args" -}}
{{- with .Values.sandbox -}}
- --sandboxes={{ int .sandboxes }}
- --wall={{ .wall }}
- --memory={{ .memory }}
{{- if .audit }}
- --audit
{{- end }}
{{- end }}
{{- if include "soliloquy.gateway.enabled" . }}
- --grpc=0.0.0.0:50051
{{- with .Values.sandbox.tls.executorSecret }}
- --tls-cert=/etc/soliloquy/sandbox-tls/tls.crt
- --tls-key=/etc/soliloquy/sandbox-tls/tls.key
- --client-ca=/etc/soliloquy/sandbox-tls/ca.crt
{{- end }}
{{- end }}
{{- end }}

{{/* The Secret of this end of the chat's way to the sandbox: (list $ "gateway"). */}}
{{- define "soliloquy.sandbox.secret" -}}
{{- get (index . 0).Values.sandbox.tls (printf "%sSecret" (index . 1)) -}}
{{- end }}

{{- define "soliloquy.collector.args" -}}
{{- with .Values.dataset -}}
{{- if not (include "soliloquy.inTables" $) -}}
- --data=/data
{{- end }}
{{- with .store }}
- --store={{ . }}
{{- end }}
- --shard-rows={{ int .shardRows }}
- --shard-seconds={{ .shardSeconds }}
{{- end }}
{{- end }}

{{/* A pod in which gVisor starts: its pause process takes in what sandboxes leave behind when they end. */}}
{{- define "soliloquy.executor.pod" -}}
shareProcessNamespace: true
{{- if eq .Values.sandbox.mode "runtimeClass" }}
runtimeClassName: {{ .Values.sandbox.runtimeClass.name }}
{{- end }}
{{- end }}

{{/* Who puts the executor's seccomp profile on its nodes. A namespace that refuses the installer's pods refuses them for good. */}}
{{- define "soliloquy.executor.profileBy" -}}
{{- with .Values.sandbox -}}
{{- if and (eq .mode "nested") (ne .nested.profileBy "auto") -}}
{{- .nested.profileBy -}}
{{- else if eq .mode "nested" -}}
{{- $namespace := lookup "v1" "Namespace" "" $.Release.Namespace -}}
{{- if $.Capabilities.APIVersions.Has "security-profiles-operator.x-k8s.io/v1beta1/SeccompProfile" -}}
operator
{{- else if has (dig "metadata" "labels" "pod-security.kubernetes.io/enforce" "" $namespace) (list "baseline" "restricted") -}}
node
{{- else -}}
installer
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Where the executor's seccomp profile lies below the kubelet's seccomp folder. */}}
{{- define "soliloquy.executor.profile" -}}
{{- with .Values.sandbox.nested -}}
{{- if eq (include "soliloquy.executor.profileBy" $) "operator" }}operator/{{ include "soliloquy.executor.profileName" $ }}.json{{ else }}{{ .seccompProfile }}{{ end }}
{{- end }}
{{- end }}

{{/* A SeccompProfile belongs to no namespace. */}}
{{- define "soliloquy.executor.profileName" -}}
{{ .Release.Namespace }}-{{ include "soliloquy.fullname" . }}-executor
{{- end }}

{{/* The container runtime's own profile forbids the namespaces and mounts that gVisor makes for itself. */}}
{{- define "soliloquy.executor.containerSecurity" -}}
{{- $security := include "soliloquy.containerSecurity" . | fromYaml -}}
{{- with .Values.sandbox.nested -}}
{{- $_ := set $security.securityContext "seccompProfile" (dict "type" "Localhost" "localhostProfile" (include "soliloquy.executor.profile" $)) -}}
{{- if .appArmorProfile -}}
{{- $_ := set $security.securityContext "appArmorProfile" (dict "type" "Localhost" "localhostProfile" .appArmorProfile) -}}
{{- else if eq (include "soliloquy.executor.profileBy" $) "installer" -}}
{{- $_ := set $security.securityContext "appArmorProfile" (dict "type" "Unconfined") -}}
{{- end -}}
{{- end -}}
{{- toYaml $security }}
{{- end }}
