{{/* Values that cannot be meant: what is wrong, by name, and what to do about it. */}}
{{- define "soliloquy.refusals" -}}
{{- include "soliloquy.refusals.kafka" . -}}
{{- include "soliloquy.refusals.strimzi" . -}}
{{- include "soliloquy.refusals.model" . -}}
{{- include "soliloquy.refusals.sandbox" . -}}
{{- include "soliloquy.refusals.scaling" . -}}
{{- include "soliloquy.refusals.model-service" . -}}
{{- include "soliloquy.refusals.training" . -}}
{{- include "soliloquy.refusals.gateway" . -}}
{{- include "soliloquy.refusals.rest" . -}}
{{- end }}

{{- define "soliloquy.refusals.kafka" -}}
{{- $made := .Values.strimzi.kafka.enabled -}}
{{- with .Values.kafka -}}
{{- if not (or .bootstrap $made) -}}
{{- fail "kafka.bootstrap is empty: name your brokers as HOST:PORT, or have a Kafka made by strimzi.kafka.enabled" -}}
{{- end -}}
{{- if and .bootstrap $made -}}
{{- fail (printf "kafka.bootstrap is %q and strimzi.kafka.enabled makes another Kafka: choose one" .bootstrap) -}}
{{- end -}}
{{- range splitList "," (.bootstrap | default "made:9092") -}}
{{- if not (regexMatch "^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:]+\\]):[0-9]{1,5}$" .) -}}
{{- fail (printf "kafka.bootstrap has %q, which is no address: write HOST:PORT, such as kafka.data:9092" .) -}}
{{- end -}}
{{- end -}}
{{- if and .sasl.enabled (not .sasl.existingSecret) -}}
{{- fail "kafka.sasl.enabled needs kafka.sasl.existingSecret: the Secret that holds the password" -}}
{{- end -}}
{{- if and .sasl.enabled (eq (not .sasl.username) (not .sasl.usernameKey)) -}}
{{- fail "kafka.sasl.enabled needs the user in one place: kafka.sasl.username, or kafka.sasl.usernameKey of the Secret" -}}
{{- end -}}
{{- if and .sasl.existingSecret (not .sasl.enabled) -}}
{{- fail (printf "kafka.sasl.existingSecret is %q and says nothing without kafka.sasl.enabled" .sasl.existingSecret) -}}
{{- end -}}
{{- if and (or .tls.ca.existingSecret .tls.client.existingSecret) (not .tls.enabled) -}}
{{- fail (printf "kafka.tls names the Secret %q, which says nothing without kafka.tls.enabled" (.tls.ca.existingSecret | default .tls.client.existingSecret)) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.strimzi" -}}
{{- $kafka := .Values.kafka -}}
{{- $copies := int (.Values.topics.replication | default 3) -}}
{{- with .Values.strimzi -}}
{{- if and .kafka.enabled (not .topics.enabled) -}}
{{- fail "strimzi.kafka.enabled needs strimzi.topics.enabled: the topics Job would run before there is a Kafka" -}}
{{- end -}}
{{- if and .kafka.enabled .topics.cluster -}}
{{- fail (printf "strimzi.topics.cluster is %q and strimzi.kafka.enabled makes another Kafka: choose one" .topics.cluster) -}}
{{- end -}}
{{- if and .kafka.enabled (gt $copies (int .kafka.replicas)) -}}
{{- fail (printf "strimzi.kafka.replicas is %d and each topic is to have %d copies: set topics.replication to %d, or have more brokers" (int .kafka.replicas) $copies (int .kafka.replicas)) -}}
{{- end -}}
{{- if and (or .topics.enabled .user.enabled) (not (or .kafka.enabled .topics.cluster)) -}}
{{- fail (printf "strimzi.%s.enabled needs strimzi.topics.cluster: the name of the Kafka that it belongs to" (ternary "topics" "user" .topics.enabled)) -}}
{{- end -}}
{{- if and .user.enabled $kafka.sasl.enabled -}}
{{- fail "strimzi.user.enabled brings a certificate and kafka.sasl.enabled a password: choose one" -}}
{{- end -}}
{{- if and .kafka.enabled (not .user.enabled) (or $kafka.tls.enabled $kafka.sasl.enabled) -}}
{{- fail "kafka.tls and kafka.sasl are of an existing Kafka: with strimzi.kafka.enabled it is strimzi.user.enabled that encrypts" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.model" -}}
{{- $served := .Values.modelService.enabled -}}
{{- with .Values.model -}}
{{- if and (not .engine) (not .settings) -}}
{{- fail "model.engine is empty: choose scripted, openai or ray, or name endpoints in model.settings" -}}
{{- end -}}
{{- if and (eq .engine "openai") (not .baseUrl) -}}
{{- fail "model.engine openai needs model.baseUrl: the address of the API, as https://api.example.com/v1" -}}
{{- end -}}
{{- if and (ne .engine "openai") .baseUrl -}}
{{- fail (printf "model.baseUrl is %q and says nothing without model.engine openai" .baseUrl) -}}
{{- end -}}
{{- if and (eq .engine "ray") (not .address) (not $served) -}}
{{- fail "model.engine ray needs model.address, or modelService.enabled for a model service of this release" -}}
{{- end -}}
{{- if and (ne .engine "ray") .address -}}
{{- fail (printf "model.address is %q and says nothing without model.engine ray" .address) -}}
{{- end -}}
{{- if and .existingSecret (ne .engine "openai") (not .settings) -}}
{{- fail (printf "model.existingSecret is %q and says nothing without model.engine openai, or model.settings" .existingSecret) -}}
{{- end -}}
{{- if and .name (not (has .engine (list "openai" "ray"))) -}}
{{- fail (printf "model.name is %q and says nothing without model.engine openai or ray" .name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.sandbox" -}}
{{- with .Values.sandbox -}}
{{- if and (eq .mode "nested") (not .nested.seccompProfile) -}}
{{- fail "sandbox.nested.seccompProfile is empty: sandbox.mode nested needs the profile of the chart on the nodes, see deploy/README.md" -}}
{{- end -}}
{{- if and (eq .mode "runtimeClass") (not .runtimeClass.name) -}}
{{- fail "sandbox.runtimeClass.name is empty: sandbox.mode runtimeClass needs a RuntimeClass of virtual machines" -}}
{{- end -}}
{{- if and (eq .mode "nested") .runtimeClass.name -}}
{{- fail (printf "sandbox.runtimeClass.name is %q and says nothing with sandbox.mode nested" .runtimeClass.name) -}}
{{- end -}}
{{- if eq (lower .runtimeClass.name) "gvisor" -}}
{{- fail (printf "sandbox.runtimeClass.name is %q: gVisor does not start within gVisor; name a RuntimeClass of virtual machines, or use sandbox.mode nested" .runtimeClass.name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.scaling" -}}
{{- $values := .Values -}}
{{- $scaled := or .Values.hpa.enabled .Values.keda.enabled -}}
{{- if and .Values.hpa.enabled .Values.keda.enabled -}}
{{- fail "hpa.enabled and keda.enabled would both scale the same Deployments: choose one" -}}
{{- end -}}
{{- with .Values.keda -}}
{{- if and .enabled (eq .trigger "prometheus") (not .prometheusAddress) -}}
{{- fail "keda.trigger prometheus needs keda.prometheusAddress, such as http://prometheus.monitoring:9090" -}}
{{- end -}}
{{- if and .enabled (eq .trigger "kafka") $values.kafka.sasl.enabled (not $values.kafka.sasl.usernameKey) -}}
{{- fail "keda.trigger kafka needs kafka.sasl.usernameKey: KEDA reads the user, too, from the Secret" -}}
{{- end -}}
{{- end -}}
{{- $partitions := 0 -}}
{{- range .Files.Get "files/topics.yaml" | fromYamlArray -}}
{{- $partitions = max $partitions .partitions -}}
{{- end -}}
{{- range $name, $stage := .Files.Get "files/stages.yaml" | fromYaml -}}
{{- $settings := include "soliloquy.settings" (list $ $name) | fromYaml -}}
{{- $replicas := int $settings.replicas -}}
{{- $free := and $scaled $stage.shares -}}
{{- if and $settings.enabled $values.podDisruptionBudget.enabled (not $free) (eq $replicas 0) -}}
{{- fail (printf "services.%s.replicas is 0 and podDisruptionBudget.enabled would guard nobody: set services.%s.enabled to false, or have one replica" $name $name) -}}
{{- end -}}
{{- if and (eq $name "collector") (gt $replicas 1) -}}
{{- fail (printf "services.collector.replicas is %d: there can be one collector only, two would write the same files" $replicas) -}}
{{- end -}}
{{- if and (eq $name "gateway") (gt $replicas 1) -}}
{{- fail (printf "services.gateway.replicas is %d: there can be one gateway only, two would drive the same runs" $replicas) -}}
{{- end -}}
{{- if and $free (gt (int $settings.scaling.min) (int $settings.scaling.max)) -}}
{{- fail (printf "services.%s.scaling.min is %d and scaling.max %d: the first must not be the larger one" $name (int $settings.scaling.min) (int $settings.scaling.max)) -}}
{{- end -}}
{{- if and $free (gt (int $settings.scaling.max) (int $partitions)) -}}
{{- fail (printf "services.%s.scaling.max is %d and a topic has %d partitions: more pods would have nothing to do" $name (int $settings.scaling.max) (int $partitions)) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.model-service" -}}
{{- with .Values.modelService -}}
{{- if .enabled -}}
{{- if and (ne .engine "scripted") (not .path) -}}
{{- fail (printf "modelService.path is empty: the %s engine needs the folder of the weights" .engine) -}}
{{- end -}}
{{- if and (eq .engine "scripted") (or .path .adapters) -}}
{{- fail "modelService.engine scripted has no weights: leave out modelService.path and modelService.adapters" -}}
{{- end -}}
{{- if gt (int .replicas.min) (int .replicas.max) -}}
{{- fail (printf "modelService.replicas.min is %d and replicas.max %d: the first must not be the larger one" (int .replicas.min) (int .replicas.max)) -}}
{{- end -}}
{{- if gt (int .workers.replicas.min) (int .workers.replicas.max) -}}
{{- fail (printf "modelService.workers.replicas.min is %d and workers.replicas.max %d: the first must not be the larger one" (int .workers.replicas.min) (int .workers.replicas.max)) -}}
{{- end -}}
{{- if gt (int .requests.target) (int .requests.max) -}}
{{- fail (printf "modelService.requests.target is %d and requests.max %d: no replica would ever have so many" (int .requests.target) (int .requests.max)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.training" -}}
{{- $model := .Values.model -}}
{{- with .Values.training -}}
{{- if and (or .rayJob.enabled .cronJob.enabled) (not .args) -}}
{{- fail "training.args is empty: say what `soliloquy train` is to do, as [--config, higgs, --base, /models/base, --data, s3://bucket/run, --name, tutor, --out, /trained]" -}}
{{- end -}}
{{- if and .retraining.enabled (not .retraining.args) -}}
{{- fail "training.retraining.args is empty: say what `soliloquy retrain` is to do, as [--config, higgs, --base, /models/base, --name, tutor, --registry, s3://bucket/adapters, --cache, /adapters]" -}}
{{- end -}}
{{- if and .retraining.enabled (ne $model.engine "ray") -}}
{{- fail "training.retraining.enabled needs model.engine ray: the model service that is to answer with what it trains" -}}
{{- end -}}
{{- if and .rayJob.enabled (not .persistence.existingClaim) (not (has "ReadWriteMany" .persistence.accessModes)) -}}
{{- fail (printf "training.persistence.accessModes is %v: training.rayJob.enabled needs ReadWriteMany, its pods may be on several nodes" .persistence.accessModes) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.gateway" -}}
{{- $enabled := (include "soliloquy.settings" (list . "gateway") | fromYaml).enabled -}}
{{- with .Values.gateway -}}
{{- range $way := list "ingress" "route" -}}
{{- if (index $.Values.gateway $way).enabled -}}
{{- if not $enabled -}}
{{- fail (printf "gateway.%s.enabled leads to nobody: services.gateway.enabled is off" $way) -}}
{{- end -}}
{{- if not $.Values.gateway.tokens.existingSecret -}}
{{- fail (printf "gateway.%s.enabled would let in whoever comes: name the Secret of the tokens in gateway.tokens.existingSecret" $way) -}}
{{- end -}}
{{- if not $.Values.gateway.host -}}
{{- fail (printf "gateway.%s.enabled needs gateway.host: the name that it answers to, such as soliloquy.example.com" $way) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .ingress.enabled (not .ingress.tlsSecret) -}}
{{- fail "gateway.ingress.enabled needs gateway.ingress.tlsSecret: tokens in the clear are anybody's" -}}
{{- end -}}
{{- if and .route.enabled (not .route.parentRefs) -}}
{{- fail "gateway.route.enabled needs gateway.route.parentRefs: the Gateway's listener, as [{name: public, sectionName: https}]" -}}
{{- end -}}
{{- if and .host (not (or .ingress.enabled .route.enabled)) -}}
{{- fail (printf "gateway.host is %q and says nothing without gateway.ingress.enabled or gateway.route.enabled" .host) -}}
{{- end -}}
{{- if and .tls.existingSecret (not .tokens.existingSecret) -}}
{{- fail (printf "gateway.tls.existingSecret is %q and says nothing without gateway.tokens.existingSecret: nobody but its own pod reaches the gateway" .tls.existingSecret) -}}
{{- end -}}
{{- if and .adapters.registry .adapters.existingClaim -}}
{{- fail (printf "gateway.adapters.registry is %q and gateway.adapters.existingClaim %q: choose one" .adapters.registry .adapters.existingClaim) -}}
{{- end -}}
{{- if and .tls.clientCaKey (not .tls.existingSecret) -}}
{{- fail (printf "gateway.tls.clientCaKey is %q and says nothing without gateway.tls.existingSecret" .tls.clientCaKey) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.rest" -}}
{{- if and .Values.dataset.existingSecret (not .Values.dataset.store) -}}
{{- fail (printf "dataset.existingSecret is %q and says nothing without dataset.store" .Values.dataset.existingSecret) -}}
{{- end -}}
{{- with .Values.serviceAccount -}}
{{- if and (not .create) (not .name) -}}
{{- fail "serviceAccount.create is off and serviceAccount.name empty: name an existing one" -}}
{{- end -}}
{{- if and .create .name -}}
{{- fail (printf "serviceAccount.name is %q, of an existing one, and serviceAccount.create makes another: choose one" .name) -}}
{{- end -}}
{{- end -}}
{{- end }}
