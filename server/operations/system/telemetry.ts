/**
 * Sends spans and metrics to an OpenTelemetry collector; loaded only if the environment names one. The bundle gives it
 * its own copy of Effect, so that other commands do not load Effect's HTTP client; it therefore returns plain values
 * only.
 */
import { ConfigProvider, Context, Effect, Exit, Layer, Metric, Scope, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"

/** Both signals are exported unless the environment says otherwise, as OpenTelemetry's specification has it. */
const defaults = { OTEL_SERVICE_NAME: "flightcase", OTEL_TRACES_EXPORTER: "otlp", OTEL_METRICS_EXPORTER: "otlp" }

/** Opens the exporters by OpenTelemetry's variables. `close` sends what is left. */
export const openTelemetry = async (environment: { readonly [name: string]: string | undefined }) => {
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
  const scope = Scope.makeUnsafe()
  const built = await Effect.runPromise(Layer.buildWithScope(exporters, scope))
  return {
    exported_metrics,
    tracer: env["OTEL_TRACES_EXPORTER"] === "otlp" ? Context.get(built, Tracer.Tracer) : undefined,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
