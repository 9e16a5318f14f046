{{- define "soliloquy.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Of every object; short enough that what operators append still fits, and without the dots that a release may have. */}}
{{- define "soliloquy.fullname" -}}
{{- $name := include "soliloquy.name" . }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | replace "." "-" | trunc 36 | trimSuffix "-" }}
{{- end }}

{{/* By what a component's pods are found: (list $ "student"). */}}
{{- define "soliloquy.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "soliloquy.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels of an object, or of a pod with labels of its own: (list $ "student" $labels). */}}
{{- define "soliloquy.labels" -}}
{{- $root := index . 0 -}}
{{- $own := dict "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/managed-by" $root.Release.Service "app.kubernetes.io/part-of" "soliloquy" -}}
{{- $chosen := mergeOverwrite (deepCopy $root.Values.labels) (deepCopy (index . 2)) -}}
{{- toYaml (mergeOverwrite $own $chosen (include "soliloquy.selector" . | fromYaml)) }}
{{- end }}

{{/* Name, labels and annotations of an object: (dict "root" $ "name" "student" "component" "student"). */}}
{{- define "soliloquy.metadata" -}}
{{- $annotations := mergeOverwrite (deepCopy .root.Values.annotations) (deepCopy (.annotations | default dict)) -}}
name: {{ include "soliloquy.fullname" .root }}{{ with .name }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "soliloquy.labels" (list .root .component (.labels | default dict)) | nindent 2 }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Not empty if a repository begins with a registry, by the rule of container runtimes. */}}
{{- define "soliloquy.namesRegistry" -}}
{{- if regexMatch "^(localhost|[^/]*[.:][^/]*)/" . }}yes{{ end -}}
{{- end }}

{{/* (list $ "workers"): from its own registry or that of all images, by its digest where there is one. */}}
{{- define "soliloquy.image" -}}
{{- $root := index . 0 -}}
{{- $image := index $root.Values.images (index . 1) -}}
{{- if not (include "soliloquy.namesRegistry" $image.repository) }}{{ $root.Values.global.imageRegistry }}/{{ end -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* (list $ "student") */}}
{{- define "soliloquy.serviceAccountName" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.serviceAccount -}}
{{- if .create }}{{ include "soliloquy.fullname" $root }}-{{ index $ 1 }}{{ else }}{{ .name | default "default" }}{{ end }}
{{- end }}
{{- end }}

{{/* The components whose pods have a ServiceAccount of their own. */}}
{{- define "soliloquy.accounts" -}}
{{- $accounts := list "test" -}}
{{- range $name, $_ := .Files.Get "files/stages.yaml" | fromYaml -}}
{{- if (include "soliloquy.settings" (list $ $name) | fromYaml).enabled }}{{ $accounts = append $accounts $name }}{{ end -}}
{{- end -}}
{{- if .Values.modelService.enabled }}{{ $accounts = append $accounts "model" }}{{ end -}}
{{- with .Values.training -}}
{{- if or .rayJob.enabled .cronJob.enabled }}{{ $accounts = append $accounts "training" }}{{ end -}}
{{- if .retraining.enabled }}{{ $accounts = append $accounts "retraining" }}{{ end -}}
{{- end -}}
{{- if eq (include "soliloquy.executor.profileBy" .) "installer" }}{{ $accounts = append $accounts "installer" }}{{ end -}}
{{- toYaml (sortAlpha $accounts) }}
{{- end }}

{{- define "soliloquy.priorityClassName" -}}
{{- if .Values.priorityClass.enabled }}{{ .Release.Namespace }}-{{ include "soliloquy.fullname" . }}{{ end }}
{{- end }}

{{/* Whether datasets are rows of tables: no volume then, and any number of collectors. */}}
{{- define "soliloquy.inTables" -}}
{{- if hasPrefix "iceberg:" .Values.dataset.store }}true{{ end -}}
{{- end }}

{{/* What files/stages.yaml says of the services of this release. */}}
{{- define "soliloquy.stages" -}}
{{- $stages := .Files.Get "files/stages.yaml" | fromYaml -}}
{{- if include "soliloquy.inTables" . }}{{ $_ := set $stages.collector "shares" true }}{{ end -}}
{{- toYaml $stages }}
{{- end }}

{{/* A service's settings over the defaults: (list $ "student"). */}}
{{- define "soliloquy.settings" -}}
{{- $values := (index . 0).Values -}}
{{- $own := deepCopy (index $values.services (index . 1)) -}}
{{- $settings := merge (deepCopy $own) (dict "enabled" true) (deepCopy $values.defaults) -}}
{{- /* Maps of the defaults and the service's own would be mixed, and of resources or a selector only one is meant. */ -}}
{{- range $name, $value := $own }}{{ $_ := set $settings $name $value }}{{ end -}}
{{- range $name := list "scaling" "rollingUpdate" -}}
{{- include "soliloquy.fill" (list (get $settings $name) (get $values.defaults $name)) -}}
{{- end -}}
{{- /* There is one of each, whatever the others have. */ -}}
{{- if has (index . 1) (list "collector" "gateway") -}}
{{- $_ := set $settings "replicas" (get (merge (deepCopy $own) (dict "replicas" 1)) "replicas") -}}
{{- end -}}
{{- $_ := set $settings "env" (concat $values.defaults.env ($own.env | default list)) -}}
{{- toYaml $settings }}
{{- end }}
