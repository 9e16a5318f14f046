{{/* Who answers the roles, as a service's environment says it. */}}
{{- define "soliloquy.model.env" -}}
{{- with .Values.model -}}
{{- if .engine }}
- name: SOLILOQUY_MODEL
  value: {{ .engine }}
{{- end }}
{{- if eq .engine "openai" }}
- name: SOLILOQUY_BASE_URL
  value: {{ .baseUrl | quote }}
{{- end }}
{{- if eq .engine "ray" }}
- name: SOLILOQUY_MODEL_ADDRESS
  value: {{ include "soliloquy.model.address" $ | quote }}
{{- end }}
{{- with .name }}
- name: SOLILOQUY_MODEL_NAME
  value: {{ . | quote }}
{{- end }}
{{- if .settings }}
- name: SOLILOQUY_MODEL_SETTINGS
  value: /etc/soliloquy/models/models.toml
{{- end }}
{{- if .existingSecret }}
- name: OPENAI_API_KEY
  valueFrom:
    secretKeyRef: {name: {{ .existingSecret }}, key: {{ .secretKey }}}
{{- end }}
{{- end }}
{{- end }}

{{/* The one that is named, or this release's: KubeRay calls the Service of a RayService so. */}}
{{- define "soliloquy.model.address" -}}
{{- with .Values.model.address }}{{ . }}{{ else }}{{ include "soliloquy.fullname" . }}-model-serve-svc.{{ .Release.Namespace }}.svc:9000{{ end }}
{{- end }}
