{{/* A container that runs one command of the CLI against the Kafka, and the volumes that it needs. */}}
{{- define "soliloquy.command" -}}
image: {{ include "soliloquy.image" (list . "workers") }}
imagePullPolicy: {{ .Values.images.pullPolicy }}
{{- include "soliloquy.containerSecurity" . | nindent 0 }}
env:
  {{- include "soliloquy.kafka.env" . | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- with include "soliloquy.kafka.mount" . }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "soliloquy.command.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .Values.defaults.temporary }}}
{{- with include "soliloquy.kafka.volume" . }}
{{ . }}
{{- end }}
{{- end }}
