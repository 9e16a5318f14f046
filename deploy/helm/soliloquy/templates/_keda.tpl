{{/* How KEDA comes by what the services read of the Kafka's Secrets; empty where there are none. */}}
{{- define "soliloquy.keda.secrets" -}}
{{- $access := include "soliloquy.kafka.access" (list . "keda") | fromYaml -}}
{{- $refs := list -}}
{{- with .Values.kafka.sasl -}}
{{- if .enabled -}}
{{- $refs = append $refs (dict "parameter" "username" "name" .existingSecret "key" .usernameKey) -}}
{{- $refs = append $refs (dict "parameter" "password" "name" .existingSecret "key" .passwordKey) -}}
{{- end -}}
{{- end -}}
{{- with $access.tls -}}
{{- if and .enabled .ca.existingSecret -}}
{{- $refs = append $refs (dict "parameter" "ca" "name" .ca.existingSecret "key" .ca.key) -}}
{{- end -}}
{{- if and .enabled .client.existingSecret -}}
{{- $refs = append $refs (dict "parameter" "cert" "name" .client.existingSecret "key" .client.certificateKey) -}}
{{- $refs = append $refs (dict "parameter" "key" "name" .client.existingSecret "key" .client.keyKey) -}}
{{- end -}}
{{- end -}}
{{- with $refs -}}
{{ toYaml . }}
{{- end -}}
{{- end }}
