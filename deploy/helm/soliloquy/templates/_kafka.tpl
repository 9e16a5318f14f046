{{- define "soliloquy.kafka.cluster" -}}
{{- if .Values.strimzi.kafka.enabled }}{{ include "soliloquy.fullname" . }}{{ else }}{{ .Values.strimzi.topics.cluster }}{{ end }}
{{- end }}

{{- define "soliloquy.kafka.bootstrap" -}}
{{- if .Values.kafka.development.enabled -}}
{{ include "soliloquy.fullname" . }}-kafka.{{ .Release.Namespace }}.svc:9092
{{- else if .Values.strimzi.kafka.enabled -}}
{{ include "soliloquy.fullname" . }}-kafka-bootstrap.{{ .Release.Namespace }}.svc:{{ ternary 9093 9092 .Values.strimzi.user.enabled }}
{{- else -}}
{{ .Values.kafka.bootstrap }}
{{- end }}
{{- end }}

{{/* (list $ COMPONENT): how it reaches the brokers, as a map. Its own Strimzi user goes before what is said of an existing Kafka. */}}
{{- define "soliloquy.kafka.access" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $tls := deepCopy $root.Values.kafka.tls -}}
{{- if $root.Values.strimzi.user.enabled -}}
{{- $_ := set $tls "enabled" true -}}
{{- $_ := set $tls.client "existingSecret" (printf "%s-%s" (include "soliloquy.fullname" $root) $component) -}}
{{- $_ := set $tls.ca "existingSecret" (printf "%s-cluster-ca-cert" (include "soliloquy.kafka.cluster" $root)) -}}
{{- end -}}
{{- $sasl := $root.Values.kafka.sasl.enabled -}}
{{- $security := ternary (ternary "SASL_SSL" "SSL" $sasl) (ternary "SASL_PLAINTEXT" "PLAINTEXT" $sasl) $tls.enabled -}}
{{- toYaml (dict "tls" $tls "security" $security) }}
{{- end }}

{{/* The components that use the Kafka, as a list. */}}
{{- define "soliloquy.kafka.components" -}}
- test
{{- range $name, $_ := .Files.Get "files/stages.yaml" | fromYaml }}
{{- if (include "soliloquy.settings" (list $ $name) | fromYaml).enabled }}
- {{ $name }}
{{- end }}
{{- end }}
{{- if or .Values.training.rayJob.enabled .Values.training.cronJob.enabled }}
- training
{{- end }}
{{- if .Values.training.retraining.enabled }}
- retraining
{{- end }}
{{- if and .Values.keda.enabled (eq .Values.keda.trigger "kafka") }}
- keda
{{- end }}
{{- end }}

{{/* (list $ COMPONENT) */}}
{{- define "soliloquy.kafka.env" -}}
{{- $access := include "soliloquy.kafka.access" . | fromYaml -}}
{{- with index . 0 -}}
- name: SOLILOQUY_KAFKA
  value: {{ include "soliloquy.kafka.bootstrap" . | quote }}
- name: SOLILOQUY_KAFKA_SECURITY
  value: {{ $access.security }}
{{- with .Values.kafka.prefix }}
- name: SOLILOQUY_KAFKA_PREFIX
  value: {{ . | quote }}
{{- end }}
{{- with .Values.kafka.sasl }}
{{- if .enabled }}
- name: SOLILOQUY_KAFKA_MECHANISM
  value: {{ .mechanism }}
{{- if or .token.audience .token.existingSecret }}
- name: SOLILOQUY_KAFKA_TOKEN_FILE
  value: /etc/soliloquy/kafka/token
{{- else }}
{{- with .token.url }}
- name: SOLILOQUY_KAFKA_TOKEN_URL
  value: {{ . | quote }}
{{- end }}
{{- with .token.scope }}
- name: SOLILOQUY_KAFKA_TOKEN_SCOPE
  value: {{ . | quote }}
{{- end }}
- name: SOLILOQUY_KAFKA_USERNAME
  {{- if .usernameKey }}
  valueFrom:
    secretKeyRef: {name: {{ .existingSecret }}, key: {{ .usernameKey }}}
  {{- else }}
  value: {{ .username | quote }}
  {{- end }}
- name: SOLILOQUY_KAFKA_PASSWORD_FILE
  value: /etc/soliloquy/kafka/password
{{- end }}
{{- end }}
{{- end }}
{{- if $access.tls.enabled }}
{{- if $access.tls.ca.existingSecret }}
- name: SOLILOQUY_KAFKA_CA_FILE
  value: /etc/soliloquy/kafka/ca.crt
{{- end }}
{{- if $access.tls.client.existingSecret }}
- name: SOLILOQUY_KAFKA_CERTIFICATE_FILE
  value: /etc/soliloquy/kafka/client.crt
- name: SOLILOQUY_KAFKA_KEY_FILE
  value: /etc/soliloquy/kafka/client.key
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* (list $ COMPONENT): the files that the environment names; empty where there are none. */}}
{{- define "soliloquy.kafka.volume" -}}
{{- $access := include "soliloquy.kafka.access" . | fromYaml -}}
{{- $sources := list -}}
{{- with (index . 0).Values.kafka.sasl -}}
{{- if and .enabled .token.audience -}}
{{- $sources = append $sources (dict "serviceAccountToken" (dict "audience" .token.audience "path" "token")) -}}
{{- else if and .enabled .token.existingSecret -}}
{{- $sources = append $sources (dict "secret" (dict "name" .token.existingSecret "items" (list (dict "key" .token.key "path" "token")))) -}}
{{- else if .enabled -}}
{{- $sources = append $sources (dict "secret" (dict "name" .existingSecret "items" (list (dict "key" .passwordKey "path" "password")))) -}}
{{- end -}}
{{- end -}}
{{- if $access.tls.enabled -}}
{{- with $access.tls.ca -}}
{{- if .existingSecret -}}
{{- $sources = append $sources (dict "secret" (dict "name" .existingSecret "items" (list (dict "key" .key "path" "ca.crt")))) -}}
{{- end -}}
{{- end -}}
{{- with $access.tls.client -}}
{{- if .existingSecret -}}
{{- $items := list (dict "key" .certificateKey "path" "client.crt") (dict "key" .keyKey "path" "client.key") -}}
{{- $sources = append $sources (dict "secret" (dict "name" .existingSecret "items" $items)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $sources -}}
- name: kafka
  projected:
    defaultMode: 0440
    sources:
      {{- toYaml . | nindent 6 }}
{{- end }}
{{- end }}

{{- define "soliloquy.kafka.mount" -}}
{{- if include "soliloquy.kafka.volume" . -}}
- name: kafka
  mountPath: /etc/soliloquy/kafka
  readOnly: true
{{- end }}
{{- end }}
