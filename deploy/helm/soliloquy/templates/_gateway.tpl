{{- define "soliloquy.gateway.enabled" -}}
{{- if (include "soliloquy.settings" (list . "gateway") | fromYaml).enabled }}true{{ end }}
{{- end }}

{{/* Without tokens nobody is asked who he is, and nobody but its own pod is heard. */}}
{{- define "soliloquy.gateway.args" -}}
{{- $executor := (include "soliloquy.settings" (list . "executor") | fromYaml).enabled -}}
{{- $from := ternary "0.0.0.0" "127.0.0.1" (ne .Values.gateway.tokens.existingSecret "") -}}
- --listen={{ $from }}:8080
- --grpc={{ $from }}:8081
{{- with .Values.gateway.tokens.existingSecret }}
- --tokens=/etc/soliloquy/gateway/tokens.toml
{{- end }}
{{- with .Values.gateway.tls }}
{{- if .existingSecret }}
- --tls-cert=/etc/soliloquy/gateway-tls/tls.crt
- --tls-key=/etc/soliloquy/gateway-tls/tls.key
{{- if .clientCaKey }}
- --client-ca=/etc/soliloquy/gateway-tls/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- range include "soliloquy.gateway.policies" . | fromYamlArray }}
- --{{ . }}=/etc/soliloquy/policies/{{ . }}.toml
{{- end }}
{{- with .Values.gateway.database.url }}
- --database={{ . }}
{{- end }}
{{- with .Values.dataset.store }}
- --store={{ . }}
{{- end }}
{{- if $executor }}
- --sandbox={{ include "soliloquy.fullname" . }}-executor.{{ .Release.Namespace }}.svc:50051
{{- end }}
{{- with .Values.gateway.adapters.registry }}
- --adapters={{ . }}
{{- end }}
{{- with .Values.gateway.deleteRunsAfterDays }}
- --delete-runs-after={{ int . }}
{{- end }}
{{- range .Values.gateway.webhooks.urls }}
- --webhook={{ . }}
{{- end }}
{{- range .Values.gateway.chatEndpoints }}
- --chat-endpoint={{ . }}
{{- end }}
{{- range $flag, $volume := include "soliloquy.gateway.claims" . | fromYaml }}
- --{{ ternary "problem-files" $flag (eq $flag "problems") }}=/{{ $flag }}
{{- end }}
{{- end }}

{{/* The files that values hold, which a running gateway reads again. */}}
{{- define "soliloquy.gateway.policies" -}}
{{- range $name := list "quotas" "templates" }}
{{- if index $.Values.gateway $name }}
- {{ $name }}
{{- end }}
{{- end }}
{{- end }}

{{/* The volumes that are there to be looked at: by name, the claim. */}}
{{- define "soliloquy.gateway.claims" -}}
{{- range $name := list "problems" "adapters" "evaluations" }}
{{- with (index $.Values.gateway $name).existingClaim }}
{{ $name }}: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* A directory, so that the kubelet brings changed tokens; certificates are read when it starts. */}}
{{- define "soliloquy.gateway.mounts" -}}
{{- if .Values.gateway.tokens.existingSecret }}
- {name: tokens, mountPath: /etc/soliloquy/gateway, readOnly: true}
{{- end }}
{{- if include "soliloquy.gateway.policies" . }}
- {name: policies, mountPath: /etc/soliloquy/policies, readOnly: true}
{{- end }}
{{- if .Values.gateway.tls.existingSecret }}
- {name: tls, mountPath: /etc/soliloquy/gateway-tls, readOnly: true}
{{- end }}
{{- range $name, $claim := include "soliloquy.gateway.claims" . | fromYaml }}
- {name: {{ $name }}, mountPath: /{{ $name }}, readOnly: true}
{{- end }}
{{- end }}

{{- define "soliloquy.gateway.volumes" -}}
{{- with .Values.gateway.tokens }}
{{- if .existingSecret }}
- name: tokens
  secret: {secretName: {{ .existingSecret }}, defaultMode: 0440, items: [{key: {{ .key }}, path: tokens.toml}]}
{{- end }}
{{- end }}
{{- if include "soliloquy.gateway.policies" . }}
- name: policies
  configMap: {name: {{ include "soliloquy.fullname" . }}-policies}
{{- end }}
{{- with .Values.gateway.tls }}
{{- if .existingSecret }}
- name: tls
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - {key: {{ .certificateKey }}, path: tls.crt}
      - {key: {{ .keyKey }}, path: tls.key}
      {{- with .clientCaKey }}
      - {key: {{ . }}, path: ca.crt}
      {{- end }}
{{- end }}
{{- end }}
{{- range $name, $claim := include "soliloquy.gateway.claims" . | fromYaml }}
- name: {{ $name }}
  persistentVolumeClaim: {claimName: {{ $claim }}, readOnly: true}
{{- end }}
{{- end }}
