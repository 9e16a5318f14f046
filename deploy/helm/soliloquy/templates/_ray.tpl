{{/* A pod of a Ray cluster; a map of `root`, `component`, `settings` (placement, labels, env, ..), `container`, `first` (containers that end before it), `mounts` and `volumes`. */}}
{{- define "soliloquy.ray.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "soliloquy.labels" (list $root .component .settings.labels) | nindent 4 }}
  {{- with .settings.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "soliloquy.podSecurity" $root | nindent 2 }}
  {{- $placement := include "soliloquy.placement" (dict "root" $root "component" .component "settings" .settings) | fromYaml }}
  {{- if .autoscaling }}
  {{- /* KubeRay makes an account for what asks it for pods. */}}
  {{- $placement = omit $placement "serviceAccountName" }}
  {{- end }}
  {{- with $placement }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .drainSeconds }}
  terminationGracePeriodSeconds: {{ add . 15 }}
  {{- end }}
  {{- with .first }}
  initContainers:
    {{- . | nindent 4 }}
  {{- end }}
  containers:
    - {{ include "soliloquy.ray.container" . | nindent 6 | trim }}
  volumes:
    - name: tmp
      emptyDir: {sizeLimit: {{ .root.Values.modelService.temporary }}}
    - name: shm
      emptyDir: {medium: Memory{{ with .sharedMemory }}, sizeLimit: {{ . }}{{ end }}}
    {{- if .autoscaling }}
    - name: kubernetes
      projected:
        sources:
          - serviceAccountToken: {path: token, expirationSeconds: 3607}
          - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
          - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
    {{- end }}
    {{- with .volumes }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "soliloquy.ray.container" -}}
name: ray
image: {{ include "soliloquy.image" (list .root "model") }}
imagePullPolicy: {{ .root.Values.images.pullPolicy }}
{{- include "soliloquy.containerSecurity" .root | nindent 0 }}
{{- $env := list (dict "name" "HOME" "value" "/tmp") }}
{{- range $name, $value := .environment }}{{ $env = append $env (dict "name" $name "value" $value) }}{{ end }}
{{- $env = concat $env (.env | default "" | fromYamlArray) (.settings.env | default list) }}
env:
  {{- include "soliloquy.once" $env | nindent 2 }}
{{- with .container }}
{{ . }}
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: shm, mountPath: /dev/shm}
  {{- with .mounts }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The head runs any code that it is given: who has no token is refused, also within the cluster's network. */}}
{{- define "soliloquy.ray.auth" -}}
authOptions:
  mode: {{ ternary "token" "disabled" .Values.modelService.tokenAuth }}
{{- end }}

{{/* What adds and removes Ray's worker pods: it alone has a token, to ask Kubernetes for them. */}}
{{- define "soliloquy.ray.autoscaler" -}}
enableInTreeAutoscaling: true
autoscalerOptions:
  version: v2
  idleTimeoutSeconds: {{ int .idleSeconds }}
  {{- include "soliloquy.containerSecurity" .root | nindent 2 }}
  volumeMounts:
    - {name: tmp, mountPath: /tmp}
    - {name: kubernetes, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end }}
