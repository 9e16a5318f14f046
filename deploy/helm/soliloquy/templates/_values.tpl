{{/* What a map lacks, from its defaults: (list $map $defaults). Labels and resources stay as they are given. */}}
{{- define "soliloquy.fill" -}}
{{- $given := index . 0 -}}
{{- range $name, $default := index . 1 -}}
{{- $value := index $given $name -}}
{{- if and (kindIs "invalid" $value) (not (kindIs "invalid" $default)) -}}
{{- $_ := set $given $name (deepCopy $default) -}}
{{- else if and (kindIs "map" $default) (not (has $name (list "labels" "resources"))) -}}
{{- include "soliloquy.fill" (list $value $default) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Variables, each once: the last of a name counts, as in a pod, but a server-side apply takes none twice. */}}
{{- define "soliloquy.once" -}}
{{- $last := dict -}}
{{- range $place, $variable := . }}{{ $_ := set $last $variable.name $place }}{{ end -}}
{{- $left := list -}}
{{- range $place, $variable := . -}}
{{- if eq $place (get $last $variable.name) }}{{ $left = append $left $variable }}{{ end -}}
{{- end -}}
{{ toYaml $left }}
{{- end }}
