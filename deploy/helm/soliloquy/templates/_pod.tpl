{{/* What makes a pod restricted, by the Pod Security standard of that name. */}}
{{- define "soliloquy.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "soliloquy.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Where a pod may run, and as what: `settings` has the fields of a pod, `component` is whose labels are spread, and
     `early` is for what runs before the release has made its ServiceAccount and PriorityClass. */}}
{{- define "soliloquy.placement" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- if .early -}}
serviceAccountName: {{ .settings.serviceAccountName | default "default" }}
{{- else -}}
serviceAccountName: {{ .settings.serviceAccountName | default (include "soliloquy.serviceAccountName" (list $root $component)) }}
{{- end }}
{{- with $root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .settings.priorityClassName | default (ternary "" (include "soliloquy.priorityClassName" $root) (.early | default false)) }}
priorityClassName: {{ . }}
{{- end }}
{{- /* The platforms of deploy/images/docker-bake.json: only the image of the other components exists for two. */}}
{{- $platform := ternary (dict "kubernetes.io/arch" "amd64") dict (has $component (list "executor" "model" "training" "retraining")) }}
{{- with merge dict (.settings.nodeSelector | default dict) $platform }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml (merge (deepCopy .) (dict "labelSelector" (dict "matchLabels" (include "soliloquy.selector" (list $root $component) | fromYaml)))) | nindent 4 | trim }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The spec of a PersistentVolumeClaim. */}}
{{- define "soliloquy.claim" -}}
accessModes:
  {{- toYaml .accessModes | nindent 2 }}
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}
