{{/* What every pod that trains has, by (list $ COMPONENT): a map for soliloquy.ray.pod. */}}
{{- define "soliloquy.training.env" -}}
{{- include "soliloquy.kafka.env" . }}
- {name: MPLCONFIGDIR, value: /tmp/matplotlib}
{{- end }}

{{/* A pod that takes the place of another one has the same: it goes on in the same folders. */}}
{{- define "soliloquy.training.jobName" -}}
- name: JOB_NAME
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['batch.kubernetes.io/job-name']"}}
{{- end }}

{{- define "soliloquy.training.mounts" -}}
{{- $root := index . 0 -}}
- {name: trained, mountPath: /trained}
{{- with include "soliloquy.claimed.mount" (list "weights" $root.Values.training.weights true) }}
{{ . }}
{{- end }}
{{- with include "soliloquy.kafka.mount" . }}
{{ . }}
{{- end }}
{{- end }}

{{- define "soliloquy.training.volumes" -}}
{{- $root := index . 0 -}}
- name: trained
  persistentVolumeClaim:
    claimName: {{ $root.Values.training.persistence.existingClaim | default (printf "%s-training" (include "soliloquy.fullname" $root)) }}
{{- with include "soliloquy.claimed.volume" (list "weights" $root.Values.training.weights) }}
{{ . }}
{{- end }}
{{- with include "soliloquy.kafka.volume" . }}
{{ . }}
{{- end }}
{{- end }}

{{/* Object stores' keys, for all that reads or writes there. */}}
{{- define "soliloquy.training.envFrom" -}}
{{- with .Values.training.existingSecret -}}
envFrom:
  - secretRef: {name: {{ . }}}
{{- end }}
{{- end }}

{{/* Arguments as one line that a shell takes apart again. */}}
{{- define "soliloquy.line" -}}
{{- $words := list -}}
{{- range . -}}
{{- $words = append $words (printf "'%s'" (replace "'" "'\\''" (toString .))) -}}
{{- end -}}
{{ join " " $words }}
{{- end }}

{{- define "soliloquy.training.container" -}}
{{- $args := printf "%s\nargs:\n%s" (include "soliloquy.training.envFrom" .pod.root) (toYaml .args | indent 2) -}}
{{- $container := include "soliloquy.ray.container" (merge (dict "container" (trim $args)) .pod) | fromYaml -}}
{{- toYaml (set $container "name" .name) }}
{{- end }}
