{{- define "soliloquy.network.dns" -}}
- to:
    {{- toYaml . | nindent 4 }}
  ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
{{- end }}

{{/* Who may ask the model service, and who may scrape it. */}}
{{- define "soliloquy.network.model-service" -}}
{{- $policy := .root.Values.networkPolicy -}}
- from:
    - podSelector:
        matchLabels:
          app.kubernetes.io/name: {{ include "soliloquy.name" .root }}
          app.kubernetes.io/instance: {{ .root.Release.Name }}
        matchExpressions:
          - {key: app.kubernetes.io/component, operator: In, values: [{{ join ", " .speakers }}]}
    {{- with $policy.modelClients }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {protocol: TCP, port: 8000}
    - {protocol: TCP, port: 9000}
{{ include "soliloquy.network.from" (list $policy.scrapers (list 8000 8080)) }}
{{- end }}

{{/* The pods of a Ray cluster among themselves, on whatever ports they choose; KubeRay at the head's dashboard. */}}
{{- define "soliloquy.network.ray.in" -}}
- from:
    - podSelector:
        matchLabels:
          {{- include "soliloquy.selector" (list .root .component) | nindent 10 }}
{{ include "soliloquy.network.from" (list .root.Values.networkPolicy.rayOperator (list 8265 52365)) }}
{{- end }}

{{- define "soliloquy.network.ray.out" -}}
- to:
    - podSelector:
        matchLabels:
          {{- include "soliloquy.selector" (list .root .component) | nindent 10 }}
{{- with .redis }}
{{ include "soliloquy.network.to" (list list (list (splitList ":" . | last))) }}
{{- end }}
{{- if .autoscaling }}
# Ray's autoscaler asks Kubernetes for pods.
{{ include "soliloquy.network.to" (list list (list 443 6443)) }}
{{- end }}
{{- end }}
