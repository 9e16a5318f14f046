{{/* A rule for what leaves: (list $peers $ports), to any address where there are no peers. */}}
{{- define "soliloquy.network.to" -}}
- {{ with index . 0 }}to:
    {{- toYaml . | nindent 4 }}
  {{ end }}ports:
    {{- range index . 1 | uniq }}
    - {protocol: TCP, port: {{ int . }}}
    {{- end }}
{{- end }}

{{/* And for what comes in, from nobody where there are no peers: without this rule. */}}
{{- define "soliloquy.network.from" -}}
{{- with index . 0 -}}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    {{- range index $ 1 }}
    - {protocol: TCP, port: {{ int . }}}
    {{- end }}
{{- end }}
{{- end }}

{{- define "soliloquy.network.kafka" -}}
{{- $ports := list -}}
{{- range splitList "," (include "soliloquy.kafka.bootstrap" .) -}}
{{- $ports = append $ports (splitList ":" . | last) -}}
{{- end -}}
{{- $own := list -}}
{{- if .Values.kafka.development.enabled -}}
{{- $own = list (dict "podSelector" (dict "matchLabels" (include "soliloquy.selector" (list . "kafka") | fromYaml))) -}}
{{- else if .Values.strimzi.kafka.enabled -}}
{{- $own = list (dict "podSelector" (dict "matchLabels" (dict "strimzi.io/cluster" (include "soliloquy.fullname" .)))) -}}
{{- end -}}
{{- $peers := .Values.networkPolicy.kafka | default $own -}}
{{- include "soliloquy.network.to" (list $peers (concat $ports .Values.networkPolicy.kafkaPorts)) }}
{{- with .Values.kafka.sasl.token.url }}
{{ include "soliloquy.network.to" (list list (list (include "soliloquy.network.port" .))) }}
{{- end }}
{{- end }}

{{/* The port that a URL names or means. */}}
{{- define "soliloquy.network.port" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end }}

{{/* Where those who ask a model find it. */}}
{{- define "soliloquy.network.model" -}}
{{- $model := .Values.model -}}
{{- $policy := .Values.networkPolicy -}}
{{- $ports := $policy.modelPorts -}}
{{- if and (eq $model.engine "ray") (not $model.address) -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "soliloquy.selector" (list . "model") | nindent 10 }}
  ports:
    - {protocol: TCP, port: 9000}
{{- else -}}
{{- if eq $model.engine "ray" -}}
{{- $ports = append $ports (splitList ":" $model.address | last) -}}
{{- else if eq $model.engine "openai" -}}
{{- $ports = append $ports (include "soliloquy.network.port" $model.baseUrl) -}}
{{- end -}}
{{- with $ports -}}
{{- include "soliloquy.network.to" (list $policy.model .) }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The APIs that chats ask in place of the release's models. */}}
{{- define "soliloquy.network.chat-endpoints" -}}
{{- $ports := list -}}
{{- range .Values.gateway.chatEndpoints -}}
{{- $ports = append $ports (include "soliloquy.network.port" .) -}}
{{- end -}}
{{- with $ports -}}
{{- include "soliloquy.network.to" (list $.Values.networkPolicy.model .) }}
{{- end -}}
{{- end }}

{{/* The programs of a chat, at either end: (list $ "to" "executor"). */}}
{{- define "soliloquy.network.chat" -}}
- {{ index . 1 }}:
    - podSelector:
        matchLabels:
          {{- include "soliloquy.selector" (list (index . 0) (index . 2)) | nindent 10 }}
  ports:
    - {protocol: TCP, port: 50051}
{{- end }}

{{/* One NetworkPolicy: (dict "root" $ "name" "kafka" "components" (list "student")), of all pods without components. */}}
{{- define "soliloquy.network.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "soliloquy.metadata" (dict "root" .root "name" .name "component" "network" "annotations" .annotations) | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ include "soliloquy.name" .root }}
      app.kubernetes.io/instance: {{ .root.Release.Name }}
    {{- with .components }}
    matchExpressions:
      - key: app.kubernetes.io/component
        operator: {{ $.operator | default "In" }}
        values:
          {{- toYaml . | nindent 10 }}
    {{- end }}
  policyTypes:
    {{- if .ingress }}
    - Ingress
    {{- end }}
    {{- if .egress }}
    - Egress
    {{- end }}
    {{- if not (or .ingress .egress) }}
    - Ingress
    - Egress
    {{- end }}
  {{- with .ingress }}
  ingress:
    {{- . | nindent 4 }}
  {{- end }}
  {{- with .egress }}
  egress:
    {{- . | nindent 4 }}
  {{- end }}
{{- end }}
