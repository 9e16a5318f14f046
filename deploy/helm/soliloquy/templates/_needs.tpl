{{/* (list $ "keda.sh/v1alpha1/ScaledObject" "keda.enabled" "KEDA"): fails where the cluster has no such API. */}}
{{- define "soliloquy.needs" -}}
{{- $root := index . 0 -}}
{{- if and $root.Values.apiVersionsCheck (not ($root.Capabilities.APIVersions.Has (index . 1))) -}}
{{- fail (printf "%s needs the API %s, which this cluster has not: install %s first, or set apiVersionsCheck to false where there is no cluster to ask" (index . 2) (index . 1) (index . 3)) -}}
{{- end -}}
{{- end }}
