{{- define "soliloquy.kafka.cluster" -}}
{{- if .Values.strimzi.kafka.enabled }}{{ include "soliloquy.fullname" . }}{{ else }}{{ .Values.strimzi.topics.cluster }}{{ end }}
{{- end }}

{{- define "soliloquy.kafka.bootstrap" -}}
{{- if .Values.strimzi.kafka.enabled -}}
{{ include "soliloquy.fullname" . }}-kafka-bootstrap.{{ .Release.Namespace }}.svc:{{ ternary 9093 9092 .Values.strimzi.user.enabled }}
{{- else -}}
{{ .Values.kafka.bootstrap }}
{{- end }}
{{- end }}

{{/* How the brokers are reached, as a map: what a Strimzi user brings goes before what is said of an existing Kafka. */}}
{{- define "soliloquy.kafka.access" -}}
{{- $tls := deepCopy .Values.kafka.tls -}}
{{- if .Values.strimzi.user.enabled -}}
{{- $_ := set $tls "enabled" true -}}
{{- $_ := set $tls.client "existingSecret" (include "soliloquy.fullname" .) -}}
{{- $_ := set $tls.ca "existingSecret" (printf "%s-cluster-ca-cert" (include "soliloquy.kafka.cluster" .)) -}}
{{- end -}}
{{- $security := ternary (ternary "SASL_SSL" "SSL" .Values.kafka.sasl.enabled) (ternary "SASL_PLAINTEXT" "PLAINTEXT" .Values.kafka.sasl.enabled) $tls.enabled -}}
{{- toYaml (dict "tls" $tls "security" $security) }}
{{- end }}

{{- define "soliloquy.kafka.env" -}}
{{- $access := include "soliloquy.kafka.access" . | fromYaml -}}
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

{{/* The files that the environment names; empty where there are none. */}}
{{- define "soliloquy.kafka.volume" -}}
{{- $access := include "soliloquy.kafka.access" . | fromYaml -}}
{{- $sources := list -}}
{{- with .Values.kafka.sasl -}}
{{- if .enabled -}}
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
