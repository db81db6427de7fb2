/** Sends spans and metrics to an OpenTelemetry collector; loaded only where the environment names one. */
import { ConfigProvider, Context, Effect, Layer, Metric, References, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"

/** Both signals are exported unless the environment says otherwise, as OpenTelemetry's specification has it. */
const defaults = { OTEL_SERVICE_NAME: "flightcase", OTEL_TRACES_EXPORTER: "otlp", OTEL_METRICS_EXPORTER: "otlp" }

/** Opens the exporters by OpenTelemetry's variables. They send what is left when the scope closes. */
export const openTelemetry = Effect.fnUntraced(function* (environment: {
  readonly [name: string]: string | undefined
}) {
  const given = Object.entries(environment).flatMap(([name, value = ""]) =>
    name.startsWith("OTEL_") && value.trim() !== "" ? [[name, value.trim()]] : []
  )
  const env: { readonly [name: string]: string } = { ...defaults, ...Object.fromEntries(given) }
  const exported_metrics: Metric.MetricRegistry = new Map()
  const exporters = Layer.mergeAll(OtlpTracer.layerFromConfig(), OtlpMetrics.layerFromConfig()).pipe(
    Layer.provide(
      Layer.mergeAll(
        env["OTEL_EXPORTER_OTLP_PROTOCOL"] === "http/json"
          ? OtlpSerialization.layerJson
          : OtlpSerialization.layerProtobuf,
        FetchHttpClient.layer,
        Layer.succeed(Metric.MetricRegistry, exported_metrics),
        ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
      )
    )
  )
  const built = yield* Layer.build(exporters)
  return {
    exported_metrics,
    services: Context.make(Tracer.Tracer, Context.get(built, Tracer.Tracer)).pipe(
      Context.add(References.TracerEnabled, env["OTEL_TRACES_EXPORTER"] === "otlp")
    )
  }
})
