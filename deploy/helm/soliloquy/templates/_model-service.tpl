{{/* What Ray Serve is to run. */}}
{{- define "soliloquy.model.config" -}}
{{- with .Values.modelService -}}
proxy_location: EveryNode
http_options: {host: 0.0.0.0, port: 8000}
grpc_options:
  port: 9000
  grpc_servicer_functions: [soliloquy.v1.model_pb2_grpc.add_ModelServiceServicer_to_server]
logging_config: {log_level: WARNING, encoding: {{ upper $.Values.logFormat }}, enable_access_log: false}
applications:
  - name: model
    route_prefix: /
    import_path: soliloquy.cli.model_app:build
    args:
      engine: {{ .engine }}
      {{- with .path }}
      model: {{ . | quote }}
      {{- end }}
      {{- with .adapters }}
      adapters:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      min_replicas: {{ int .replicas.min }}
      max_replicas: {{ int .replicas.max }}
      gpus: {{ include "soliloquy.model.gpus" . }}
      {{- with .requests.target }}
      target_ongoing: {{ int . }}
      {{- end }}
      {{- with .requests.max }}
      max_ongoing: {{ int . }}
      {{- end }}
      {{- with .engineSettings }}
      engine_settings:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      max_queued: {{ int .requests.queued }}
      grace: {{ int .drainSeconds }}
      {{- with $.Values.traces }}
      {{- if .url }}
      traces: {{ .url | quote }}
      trace_share: {{ .share }}
      {{- end }}
      {{- end }}
{{- end }}
{{- end }}

{{/* The GPUs of a replica: those that vLLM uses, one for transformers, none for the scripted engine, or as many as given. */}}
{{- define "soliloquy.model.gpus" -}}
{{- if not (kindIs "invalid" .gpus) -}}
{{ .gpus }}
{{- else if eq .engine "vllm" -}}
{{ mul (dig "vllm" "tensor_parallel" 1 .engineSettings) (dig "vllm" "pipeline_parallel" 1 .engineSettings) }}
{{- else -}}
{{ eq .engine "transformers" | ternary 1 0 }}
{{- end -}}
{{- end }}

{{/* A port that KubeRay's Service is to have is called serve, or serve- and what it speaks. */}}
{{- define "soliloquy.model.ports" -}}
ports:
  {{- if . }}
  - {name: gcs-server, containerPort: 6379}
  - {name: dashboard, containerPort: 8265}
  - {name: client, containerPort: 10001}
  {{- end }}
  - {name: metrics, containerPort: 8080}
  - {name: serve, containerPort: 8000}
  - {name: serve-grpc, containerPort: 9000}
{{- end }}

{{/* Ready while its proxy has a sound replica; an answer under way is heard out before the end. */}}
{{- define "soliloquy.model.probes" -}}
readinessProbe:
  httpGet: {path: /-/healthz, port: serve}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
lifecycle:
  preStop: {sleep: {seconds: 10}}
{{- end }}

{{/* Fetches the weights before Ray starts; what a pod has of them it keeps when the fetch is started again. */}}
{{- define "soliloquy.model.fetch" -}}
{{- with .Values.modelService.weights -}}
{{- if .source -}}
- name: weights
  image: {{ include "soliloquy.image" (list $ "model") }}
  imagePullPolicy: {{ $.Values.images.pullPolicy }}
  {{- include "soliloquy.containerSecurity" $ | nindent 2 }}
  command: [soliloquy, model, fetch, {{ .source | quote }}, {{ $.Values.modelService.path | quote }}{{ with .digest }}, --digest, {{ . | quote }}{{ end }}]
  env:
    {{- include "soliloquy.once" (concat (list (dict "name" "HOME" "value" "/tmp")) ($.Values.modelService.env | default list)) | nindent 4 }}
  {{- with .existingSecret }}
  envFrom:
    - secretRef: {name: {{ . }}}
  {{- end }}
  resources:
    requests: {cpu: 500m, memory: 1Gi}
    limits: {memory: 2Gi}
  volumeMounts:
    - {name: tmp, mountPath: /tmp}
    - {name: weights, mountPath: {{ .mountPath }}}
{{- end }}
{{- end }}
{{- end }}

{{/* The volumes of the model's pods, which only read them. */}}
{{- define "soliloquy.model.volumes" -}}
{{- with .weights.image -}}
- name: weights
  image: {reference: {{ . | quote }}, pullPolicy: IfNotPresent}
{{- end }}
{{- if .weights.source -}}
- name: weights
  emptyDir: {sizeLimit: {{ .weights.size }}}
{{- end }}
{{- include "soliloquy.claimed.volume" (list "weights" .weights) }}
{{ include "soliloquy.claimed.volume" (list "adapters" .adapterVolume) }}
{{- end }}

{{- define "soliloquy.model.mounts" -}}
{{- include "soliloquy.claimed.mount" (list "weights" (merge (dict "existingClaim" (coalesce .weights.existingClaim .weights.image .weights.source)) .weights) true) }}
{{ include "soliloquy.claimed.mount" (list "adapters" .adapterVolume true) }}
{{- end }}

{{/* An existing claim as a volume, by a name of ours, and where it is mounted; nothing where there is none. */}}
{{- define "soliloquy.claimed.volume" -}}
{{- with (index . 1).existingClaim -}}
- name: {{ index $ 0 }}
  persistentVolumeClaim: {claimName: {{ . }}}
{{- end }}
{{- end }}

{{- define "soliloquy.claimed.mount" -}}
{{- if (index . 1).existingClaim -}}
- {name: {{ index . 0 }}, mountPath: {{ (index . 1).mountPath }}, readOnly: {{ index . 2 }}}
{{- end }}
{{- end }}
