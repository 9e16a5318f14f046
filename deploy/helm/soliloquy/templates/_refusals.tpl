{{/* Values that cannot be meant: what is wrong, by name, and what to do about it. */}}
{{- define "soliloquy.refusals" -}}
{{- include "soliloquy.refusals.names" . -}}
{{- include "soliloquy.refusals.images" . -}}
{{- include "soliloquy.refusals.kafka" . -}}
{{- include "soliloquy.refusals.strimzi" . -}}
{{- include "soliloquy.refusals.model" . -}}
{{- include "soliloquy.refusals.sandbox" . -}}
{{- include "soliloquy.refusals.scaling" . -}}
{{- include "soliloquy.refusals.services" . -}}
{{- include "soliloquy.refusals.model-service" . -}}
{{- include "soliloquy.refusals.training" . -}}
{{- include "soliloquy.refusals.gateway" . -}}
{{- include "soliloquy.refusals.rest" . -}}
{{- end }}

{{- define "soliloquy.refusals.names" -}}
{{- $name := include "soliloquy.fullname" . -}}
{{- if regexMatch "^[0-9]" $name -}}
{{- fail (printf "the name %q begins with a digit, which a Service name may not: set fullnameOverride" $name) -}}
{{- end -}}
{{- end }}

{{/* Anybody may register a name on a public hub that nobody has, and would run code in this cluster. */}}
{{- define "soliloquy.refusals.images" -}}
{{- $used := list "workers" "executor" -}}
{{- with .Values.training -}}
{{- if or $.Values.modelService.enabled .rayJob.enabled .cronJob.enabled .retraining.enabled }}{{ $used = append $used "model" }}{{ end -}}
{{- end -}}
{{- if .Values.kafka.development.enabled }}{{ $used = append $used "kafka" }}{{ end -}}
{{- range $name := $used -}}
{{- $repository := (index $.Values.images $name).repository -}}
{{- if not (or $.Values.global.imageRegistry (include "soliloquy.namesRegistry" $repository)) -}}
{{- fail (printf "images.%s.repository %q names no registry, so it would be pulled from a public one where its name may be anybody's: push the images of deploy/images to a registry of yours and set global.imageRegistry to it" $name $repository) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.kafka" -}}
{{- $made := ternary "strimzi.kafka" (ternary "kafka.development" "" .Values.kafka.development.enabled) .Values.strimzi.kafka.enabled -}}
{{- $copies := int .Values.topics.replication -}}
{{- with .Values.kafka -}}
{{- if not (or .bootstrap $made) -}}
{{- fail "kafka.bootstrap is empty: set it to HOST:PORT of your brokers, or kafka.development.enabled to try the chart on a broker of its own" -}}
{{- end -}}
{{- if and .bootstrap $made -}}
{{- fail (printf "kafka.bootstrap is %q and %s.enabled creates another Kafka: choose one" .bootstrap $made) -}}
{{- end -}}
{{- if .development.enabled -}}
{{- if or $.Values.strimzi.kafka.enabled $.Values.strimzi.topics.enabled $.Values.strimzi.user.enabled -}}
{{- fail "kafka.development.enabled makes a broker without Strimzi: choose it or the values of strimzi" -}}
{{- end -}}
{{- if or .tls.enabled .sasl.enabled -}}
{{- fail "kafka.tls and kafka.sasl apply to an existing Kafka: the broker of kafka.development has neither" -}}
{{- end -}}
{{- if gt $copies 1 -}}
{{- fail (printf "topics.replication is %d and kafka.development.enabled makes one broker: leave it out" $copies) -}}
{{- end -}}
{{- end -}}
{{- range splitList "," (.bootstrap | default "made:9092") -}}
{{- if not (regexMatch "^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:]+\\]):[0-9]{1,5}$" .) -}}
{{- fail (printf "kafka.bootstrap has %q, which is not an address: use HOST:PORT, such as kafka.data:9092" .) -}}
{{- end -}}
{{- if gt (splitList ":" . | last | int) 65535 -}}
{{- fail (printf "kafka.bootstrap has %q: ports end at 65535" .) -}}
{{- end -}}
{{- end -}}
{{- $tokens := list -}}
{{- range $name := list "audience" "existingSecret" "url" -}}
{{- if get $.Values.kafka.sasl.token $name -}}
{{- $tokens = append $tokens $name -}}
{{- end -}}
{{- end -}}
{{- $bearer := and .sasl.enabled (eq .sasl.mechanism "OAUTHBEARER") -}}
{{- if and $bearer (ne (len $tokens) 1) -}}
{{- fail "kafka.sasl.mechanism OAUTHBEARER requires one of kafka.sasl.token.audience, .existingSecret and .url" -}}
{{- end -}}
{{- if and $tokens (not $bearer) -}}
{{- fail (printf "kafka.sasl.token.%s has no effect without kafka.sasl.enabled and mechanism OAUTHBEARER" (first $tokens)) -}}
{{- end -}}
{{- if and $bearer $.Values.keda.enabled (eq $.Values.keda.trigger "kafka") -}}
{{- fail "keda.trigger is kafka, for which KEDA needs a token of its own: with mechanism OAUTHBEARER use keda.trigger prometheus" -}}
{{- end -}}
{{- if and .sasl.token.url (not (hasPrefix "https://" .sasl.token.url)) -}}
{{- fail (printf "kafka.sasl.token.url is %q: use https, since it is sent a secret" .sasl.token.url) -}}
{{- end -}}
{{- if and .sasl.enabled (not (or .sasl.existingSecret .sasl.token.audience .sasl.token.existingSecret)) -}}
{{- fail "kafka.sasl.enabled requires kafka.sasl.existingSecret: the Secret that holds the password" -}}
{{- end -}}
{{- if and .sasl.enabled (or (not $bearer) .sasl.token.url) (eq (not .sasl.username) (not .sasl.usernameKey)) -}}
{{- fail "kafka.sasl.enabled requires the user in one place: kafka.sasl.username, or kafka.sasl.usernameKey of the Secret" -}}
{{- end -}}
{{- range $name := list "existingSecret" "username" "usernameKey" -}}
{{- if and (get $.Values.kafka.sasl $name) (not $.Values.kafka.sasl.enabled) -}}
{{- fail (printf "kafka.sasl.%s is %q but has no effect without kafka.sasl.enabled" $name (get $.Values.kafka.sasl $name)) -}}
{{- end -}}
{{- end -}}
{{- if and (or .tls.ca.existingSecret .tls.client.existingSecret) (not .tls.enabled) -}}
{{- fail (printf "kafka.tls names the Secret %q, which has no effect without kafka.tls.enabled" (.tls.ca.existingSecret | default .tls.client.existingSecret)) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.strimzi" -}}
{{- $kafka := .Values.kafka -}}
{{- $copies := int (.Values.topics.replication | default 3) -}}
{{- with .Values.strimzi -}}
{{- if and .kafka.enabled (not .topics.enabled) -}}
{{- fail "strimzi.kafka.enabled requires strimzi.topics.enabled: the topics Job would run before that Kafka exists" -}}
{{- end -}}
{{- if and .kafka.enabled .topics.cluster -}}
{{- fail (printf "strimzi.topics.cluster is %q and strimzi.kafka.enabled creates another Kafka: choose one" .topics.cluster) -}}
{{- end -}}
{{- if and .kafka.enabled (gt $copies (int .kafka.replicas)) -}}
{{- fail (printf "strimzi.kafka.replicas is %d and topics want %d replicas: set topics.replication to %d, or add brokers" (int .kafka.replicas) $copies (int .kafka.replicas)) -}}
{{- end -}}
{{- if and (or .topics.enabled .user.enabled) (not (or .kafka.enabled .topics.cluster)) -}}
{{- fail (printf "strimzi.%s.enabled requires strimzi.topics.cluster: the name of its Kafka" (ternary "topics" "user" .topics.enabled)) -}}
{{- end -}}
{{- if and .user.enabled $.Values.topics.enabled (not .topics.enabled) -}}
{{- fail "strimzi.user.enabled requires strimzi.topics.enabled, or topics.enabled=false: the topics Job would run before there is a user" -}}
{{- end -}}
{{- if and .user.enabled $kafka.sasl.enabled -}}
{{- fail "strimzi.user.enabled uses a certificate and kafka.sasl.enabled a password: choose one" -}}
{{- end -}}
{{- if and .kafka.enabled (not .user.enabled) (or $kafka.tls.enabled $kafka.sasl.enabled) -}}
{{- fail "kafka.tls and kafka.sasl apply to an existing Kafka: with strimzi.kafka.enabled use strimzi.user.enabled" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.model" -}}
{{- $served := .Values.modelService.enabled -}}
{{- with .Values.model -}}
{{- if and (not .engine) (not .settings) -}}
{{- fail "model.engine is empty: choose scripted, openai or ray, or list endpoints in model.settings" -}}
{{- end -}}
{{- if and (eq .engine "openai") (not .baseUrl) -}}
{{- fail "model.engine openai requires model.baseUrl: the base URL of the API, e.g. https://api.example.com/v1" -}}
{{- end -}}
{{- if and (ne .engine "openai") .baseUrl -}}
{{- fail (printf "model.baseUrl is %q but has no effect without model.engine openai" .baseUrl) -}}
{{- end -}}
{{- if and (eq .engine "ray") (not .address) (not $served) -}}
{{- fail "model.engine ray requires model.address or modelService.enabled" -}}
{{- end -}}
{{- if and (ne .engine "ray") .address -}}
{{- fail (printf "model.address is %q but has no effect without model.engine ray" .address) -}}
{{- end -}}
{{- if and .existingSecret (ne .engine "openai") (not .settings) -}}
{{- fail (printf "model.existingSecret is %q but has no effect without model.engine openai, or model.settings" .existingSecret) -}}
{{- end -}}
{{- if and .name (not (has .engine (list "openai" "ray"))) -}}
{{- fail (printf "model.name is %q but has no effect without model.engine openai or ray" .name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.sandbox" -}}
{{- with .Values.sandbox -}}
{{- if and (eq .mode "nested") (not .nested.seccompProfile) -}}
{{- fail "sandbox.nested.seccompProfile is empty: sandbox.mode nested requires the profile of the chart on the nodes, see deploy/README.md" -}}
{{- end -}}
{{- if and (eq .mode "runtimeClass") (not .runtimeClass.name) -}}
{{- fail "sandbox.runtimeClass.name is empty: sandbox.mode runtimeClass requires a RuntimeClass of virtual machines" -}}
{{- end -}}
{{- if and (eq .mode "nested") .runtimeClass.name -}}
{{- fail (printf "sandbox.runtimeClass.name is %q but has no effect with sandbox.mode nested" .runtimeClass.name) -}}
{{- end -}}
{{- if and (eq .mode "runtimeClass") .nested.appArmorProfile -}}
{{- fail (printf "sandbox.nested.appArmorProfile is %q but has no effect with sandbox.mode runtimeClass" .nested.appArmorProfile) -}}
{{- end -}}
{{- if ne (empty .tls.executorSecret) (empty .tls.gatewaySecret) -}}
{{- fail (printf "sandbox.tls.executorSecret is %q and sandbox.tls.gatewaySecret %q: name both, since each end requires the other's certificate" .tls.executorSecret .tls.gatewaySecret) -}}
{{- end -}}
{{- if and .tls.executorSecret (not (include "soliloquy.gateway.enabled" $)) -}}
{{- fail (printf "sandbox.tls.executorSecret is %q but has no effect without services.gateway.enabled: only the gateway calls the sandbox" .tls.executorSecret) -}}
{{- end -}}
{{- if has (lower .runtimeClass.name) (list "gvisor" "runsc") -}}
{{- fail (printf "sandbox.runtimeClass.name is %q: gVisor does not start within gVisor; name a RuntimeClass of virtual machines, or use sandbox.mode nested" .runtimeClass.name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.model-service" -}}
{{- with .Values.modelService -}}
{{- if .enabled -}}
{{- if and (ne .engine "scripted") (not .path) -}}
{{- fail (printf "modelService.path is empty: the %s engine requires the folder of the weights" .engine) -}}
{{- end -}}
{{- if and (eq .engine "scripted") (or .path .adapters) -}}
{{- fail "modelService.engine scripted has no weights: leave out modelService.path and modelService.adapters" -}}
{{- end -}}
{{- if and .weights.existingClaim .weights.image -}}
{{- fail (printf "modelService.weights.existingClaim is %q and image %q: choose one" .weights.existingClaim .weights.image) -}}
{{- end -}}
{{- with .weights -}}
{{- if and .source (or .existingClaim .image) -}}
{{- fail (printf "modelService.weights.source is %q and %s %q: choose one" .source (ternary "existingClaim" "image" (ne .existingClaim "")) (.existingClaim | default .image)) -}}
{{- end -}}
{{- if and .source (not (hasPrefix (printf "%s/" .mountPath) $.Values.modelService.path)) -}}
{{- fail (printf "modelService.path is %q: weights.source is fetched to a folder below weights.mountPath, %s" $.Values.modelService.path .mountPath) -}}
{{- end -}}
{{- if and (or .existingSecret .digest) (not .source) -}}
{{- fail (printf "modelService.weights.%s has no effect without modelService.weights.source" (ternary "existingSecret" "digest" (ne .existingSecret ""))) -}}
{{- end -}}
{{- end -}}
{{- if and .head.redis.existingSecret (not .head.redis.address) -}}
{{- fail (printf "modelService.head.redis.existingSecret is %q but has no effect without modelService.head.redis.address" .head.redis.existingSecret) -}}
{{- end -}}
{{- $moves := eq .upgrade "NewClusterWithIncrementalUpgrade" -}}
{{- if and $moves (not .incremental.gatewayClassName) -}}
{{- fail "modelService.upgrade NewClusterWithIncrementalUpgrade requires modelService.incremental.gatewayClassName: a class of the Gateway API whose controller splits requests between the clusters" -}}
{{- end -}}
{{- if and $moves (not (gt (int .workers.replicas.max) (int .workers.replicas.min))) -}}
{{- fail "modelService.upgrade NewClusterWithIncrementalUpgrade requires Ray's autoscaler: set modelService.workers.replicas.max above its min" -}}
{{- end -}}
{{- if and .incremental.gatewayClassName (not $moves) -}}
{{- fail (printf "modelService.incremental.gatewayClassName is %q but has no effect without modelService.upgrade NewClusterWithIncrementalUpgrade" .incremental.gatewayClassName) -}}
{{- end -}}
{{- if gt (int .replicas.min) (int .replicas.max) -}}
{{- fail (printf "modelService.replicas.min is %d and replicas.max %d: the minimum exceeds the maximum" (int .replicas.min) (int .replicas.max)) -}}
{{- end -}}
{{- if gt (int .workers.replicas.min) (int .workers.replicas.max) -}}
{{- fail (printf "modelService.workers.replicas.min is %d and workers.replicas.max %d: the minimum exceeds the maximum" (int .workers.replicas.min) (int .workers.replicas.max)) -}}
{{- end -}}
{{- if and .requests.max (gt (int .requests.target) (int .requests.max)) -}}
{{- fail (printf "modelService.requests.target is %d and requests.max %d: the maximum is below the target" (int .requests.target) (int .requests.max)) -}}
{{- end -}}
{{- $gpus := include "soliloquy.model.gpus" . | float64 -}}
{{- $workers := .workers.replicas.max -}}
{{- $replicas := .replicas.max -}}
{{- range $resource, $limit := dig "resources" "limits" dict .workers -}}
{{- if hasSuffix "/gpu" $resource -}}
{{- if gt (float64 $gpus) (float64 $limit) -}}
{{- fail (printf "a replica of modelService uses %v GPUs and modelService.workers.resources.limits has %v of %s: no worker could host a replica" $gpus $limit $resource) -}}
{{- end -}}
{{- if gt (mulf $gpus $replicas) (mulf $limit $workers) -}}
{{- fail (printf "modelService.replicas.max is %v and modelService.workers.replicas.max %v: replicas of %v GPUs do not fit on workers of %v" $replicas $workers $gpus $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.training" -}}
{{- $model := .Values.model -}}
{{- with .Values.training -}}
{{- if and (or .rayJob.enabled .cronJob.enabled) (not .args) -}}
{{- fail "training.args is empty: set the arguments of `soliloquy train`, e.g. [--config, soliloquy, --base, /models/base, --data, s3://bucket/run, --name, tutor, --out, /trained]" -}}
{{- end -}}
{{- if and .cronJob.enabled (not (contains "$(JOB_NAME)" (join " " .args))) -}}
{{- fail "training.args has the same name for every training of training.cronJob: use the job's, e.g. --name=tutor-$(JOB_NAME)" -}}
{{- end -}}
{{- if and .freeze (not (contains "$(JOB_NAME)" (join " " .freeze))) -}}
{{- fail "training.freeze has the same folder for every training: use the job's name, e.g. --out=/trained/frozen/$(JOB_NAME), and the same for --data in training.args" -}}
{{- end -}}
{{- if and .retraining.enabled (not .retraining.args) -}}
{{- fail "training.retraining.args is empty: set the arguments of `soliloquy retrain`, e.g. [--config, soliloquy, --base, /models/base, --name, tutor, --registry, s3://bucket/adapters, --cache, /adapters]" -}}
{{- end -}}
{{- if and .retraining.enabled (ne $model.engine "ray") -}}
{{- fail "training.retraining.enabled requires model.engine ray: the model service that serves the trained adapters" -}}
{{- end -}}
{{- if and .rayJob.enabled (not .persistence.existingClaim) (not (has "ReadWriteMany" .persistence.accessModes)) -}}
{{- fail (printf "training.persistence.accessModes is %v: training.rayJob.enabled requires ReadWriteMany because its pods may be on several nodes" .persistence.accessModes) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "soliloquy.refusals.rest" -}}
{{- if and .Values.gateway.database.existingSecret (not .Values.gateway.database.url) -}}
{{- fail (printf "gateway.database.existingSecret is %q but has no effect without gateway.database.url" .Values.gateway.database.existingSecret) -}}
{{- end -}}
{{- if hasSuffix "://" .Values.dataset.store -}}
{{- fail (printf "dataset.store is %q, which names no bucket: set it to %sBUCKET/FOLDER, or to an empty value to keep datasets on the volume of dataset.persistence" .Values.dataset.store .Values.dataset.store) -}}
{{- end -}}
{{- if and .Values.dataset.existingSecret (not .Values.dataset.store) -}}
{{- fail (printf "dataset.existingSecret is %q but has no effect without dataset.store" .Values.dataset.existingSecret) -}}
{{- end -}}
{{- with .Values.serviceAccount -}}
{{- if and (not .create) (not .name) -}}
{{- fail "serviceAccount.create is false and serviceAccount.name empty: name an existing one" -}}
{{- end -}}
{{- if and .annotations (not .create) -}}
{{- fail "serviceAccount.annotations has no effect with serviceAccount.create false" -}}
{{- end -}}
{{- range $name, $_ := .annotations -}}
{{- if eq $name "executor" -}}
{{- fail "serviceAccount.annotations.executor would lend a role to code that a model wrote: leave it out" -}}
{{- end -}}
{{- if not (has $name (include "soliloquy.accounts" $ | fromYamlArray)) -}}
{{- fail (printf "serviceAccount.annotations has %q, which is no service of this release: there are %s" $name (include "soliloquy.accounts" $ | fromYamlArray | join ", ")) -}}
{{- end -}}
{{- end -}}
{{- if and .create .name -}}
{{- fail (printf "serviceAccount.name is %q and serviceAccount.create would create another: choose one" .name) -}}
{{- end -}}
{{- end -}}
{{- end }}
