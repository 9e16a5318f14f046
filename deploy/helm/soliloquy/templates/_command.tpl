{{/* (list $ COMPONENT): a container that runs one command of the CLI against the Kafka, and the volumes that it needs. */}}
{{- define "soliloquy.command" -}}
{{- $root := index . 0 -}}
image: {{ include "soliloquy.image" (list $root "workers") }}
imagePullPolicy: {{ $root.Values.images.pullPolicy }}
{{- include "soliloquy.containerSecurity" $root | nindent 0 }}
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
  emptyDir: {sizeLimit: {{ (index . 0).Values.defaults.temporary }}}
{{- with include "soliloquy.kafka.volume" . }}
{{ . }}
{{- end }}
{{- end }}
