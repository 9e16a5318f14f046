{{- define "soliloquy.refusals.scaling" -}}
{{- $values := .Values -}}
{{- $scaled := or .Values.hpa.enabled .Values.keda.enabled -}}
{{- if and .Values.hpa.enabled .Values.keda.enabled -}}
{{- fail "hpa.enabled and keda.enabled would scale the same Deployments: choose one" -}}
{{- end -}}
{{- with .Values.keda -}}
{{- if and .enabled (eq .trigger "prometheus") (not .prometheusAddress) -}}
{{- fail "keda.trigger prometheus requires keda.prometheusAddress, such as http://prometheus.monitoring:9090" -}}
{{- end -}}
{{- if and .enabled (eq .trigger "kafka") .prometheusAddress -}}
{{- fail (printf "keda.prometheusAddress is %q but has no effect with keda.trigger kafka" .prometheusAddress) -}}
{{- end -}}
{{- if and .enabled (eq .trigger "kafka") $values.kafka.sasl.enabled (not $values.kafka.sasl.usernameKey) -}}
{{- fail "keda.trigger kafka requires kafka.sasl.usernameKey: KEDA reads the user name from the Secret" -}}
{{- end -}}
{{- end -}}
{{- $partitions := .Values.topics.partitions -}}
{{- range $name, $stage := include "soliloquy.stages" . | fromYaml -}}
{{- $settings := include "soliloquy.settings" (list $ $name) | fromYaml -}}
{{- $replicas := int $settings.replicas -}}
{{- $free := and $scaled $stage.shares -}}
{{- $said := ternary (printf "services.%s" $name) "defaults" (hasKey (index $values.services $name) "replicas") -}}
{{- if and $settings.enabled $values.podDisruptionBudget.enabled (not $free) (eq $replicas 0) -}}
{{- fail (printf "%s.replicas is 0 and podDisruptionBudget.enabled would protect no pod: use one replica, or set services.%s.enabled or podDisruptionBudget.enabled to false" $said $name) -}}
{{- end -}}
{{- if and (eq $name "collector") (not $stage.shares) (gt $replicas 1) -}}
{{- fail (printf "services.collector.replicas is %d: only one collector may run, since two would write the same files: use tables as dataset.store" $replicas) -}}
{{- end -}}
{{- if and (eq $name "gateway") (gt $replicas 1) (not $values.gateway.database.url) -}}
{{- fail (printf "services.gateway.replicas is %d: several gateways require gateway.database.url, by which they agree who drives the runs" $replicas) -}}
{{- end -}}
{{- if and $free $values.hpa.enabled $settings.enabled (not (dig "requests" "cpu" "" ($settings.resources | default dict))) -}}
{{- fail (printf "hpa.enabled requires services.%s.resources.requests.cpu: its target is a share of that" $name) -}}
{{- end -}}
{{- if and $free (gt (int $settings.scaling.min) (int $settings.scaling.max)) -}}
{{- fail (printf "services.%s.scaling.min is %d and scaling.max %d: the minimum exceeds the maximum" $name (int $settings.scaling.min) (int $settings.scaling.max)) -}}
{{- end -}}
{{- if and $free (gt (int $settings.scaling.max) (int $partitions)) -}}
{{- fail (printf "services.%s.scaling.max is %d and a topic has %d partitions: further pods would be idle" $name (int $settings.scaling.max) (int $partitions)) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* What a service's pods are to have, beside what the chart gives them itself. */}}
{{- define "soliloquy.refusals.services" -}}
{{- $taken := list "tmp" "kafka" "models" "data" "tokens" "tls" "sandbox-tls" "policies" "problems" "adapters" "evaluations" -}}
{{- range $name, $_ := .Files.Get "files/stages.yaml" | fromYaml -}}
{{- $settings := include "soliloquy.settings" (list $ $name) | fromYaml -}}
{{- $mounted := list -}}
{{- range $settings.volumes -}}
{{- if has .name $taken -}}
{{- fail (printf "services.%s.volumes has %q, a name that the chart uses: choose another" $name .name) -}}
{{- end -}}
{{- $mounted = append $mounted .name -}}
{{- end -}}
{{- range $settings.volumeMounts -}}
{{- if not (has .name $mounted) -}}
{{- fail (printf "services.%s.volumeMounts has %q, which is not one of its volumes" $name .name) -}}
{{- end -}}
{{- if or (has .mountPath (list "/tmp" "/data")) (hasPrefix "/etc/soliloquy" .mountPath) -}}
{{- fail (printf "services.%s.volumeMounts has %q, where the chart mounts something" $name .mountPath) -}}
{{- end -}}
{{- end -}}
{{- with $settings.rollingUpdate -}}
{{- if not (or (regexMatch "[1-9]" (toString .maxUnavailable)) (regexMatch "[1-9]" (toString .maxSurge))) -}}
{{- fail (printf "services.%s.rollingUpdate.maxUnavailable and maxSurge are both 0: no pod could be replaced" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.gateway" -}}
{{- $enabled := (include "soliloquy.settings" (list . "gateway") | fromYaml).enabled -}}
{{- with .Values.gateway -}}
{{- range $way := list "ingress" "route" -}}
{{- if (index $.Values.gateway $way).enabled -}}
{{- if not $enabled -}}
{{- fail (printf "gateway.%s.enabled leads nowhere: services.gateway.enabled is false" $way) -}}
{{- end -}}
{{- if not $.Values.gateway.tokens.existingSecret -}}
{{- fail (printf "gateway.%s.enabled would admit anyone: set gateway.tokens.existingSecret" $way) -}}
{{- end -}}
{{- if not $.Values.gateway.host -}}
{{- fail (printf "gateway.%s.enabled requires gateway.host: its host name, such as soliloquy.example.com" $way) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .ingress.enabled (not .ingress.tlsSecret) -}}
{{- fail "gateway.ingress.enabled requires gateway.ingress.tlsSecret: tokens must not be sent in the clear" -}}
{{- end -}}
{{- if and .ingress.enabled .tls.existingSecret (not .ingress.annotations) -}}
{{- fail (printf "gateway.tls.existingSecret is %q and gateway.ingress speaks HTTP to the gateway: leave it out, or have gateway.ingress.annotations say HTTPS, as nginx.ingress.kubernetes.io/backend-protocol does" .tls.existingSecret) -}}
{{- end -}}
{{- if and .route.enabled (not .route.parentRefs) -}}
{{- fail "gateway.route.enabled requires gateway.route.parentRefs: the Gateway's listener, as [{name: public, sectionName: https}]" -}}
{{- end -}}
{{- if and .host (not (or .ingress.enabled .route.enabled)) -}}
{{- fail (printf "gateway.host is %q but has no effect without gateway.ingress.enabled or gateway.route.enabled" .host) -}}
{{- end -}}
{{- if and .tls.existingSecret (not .tokens.existingSecret) -}}
{{- fail (printf "gateway.tls.existingSecret is %q but has no effect without gateway.tokens.existingSecret: only its own pod reaches the gateway" .tls.existingSecret) -}}
{{- end -}}
{{- if and .adapters.registry .adapters.existingClaim -}}
{{- fail (printf "gateway.adapters.registry is %q and gateway.adapters.existingClaim %q: choose one" .adapters.registry .adapters.existingClaim) -}}
{{- end -}}
{{- if and .tls.clientCaKey (not .tls.existingSecret) -}}
{{- fail (printf "gateway.tls.clientCaKey is %q but has no effect without gateway.tls.existingSecret" .tls.clientCaKey) -}}
{{- end -}}
{{- end -}}
{{- end }}
