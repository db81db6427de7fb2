/** What slices measure themselves, in Prometheus' text format: read when the measurements are asked for. */

export interface Measurement {
  /** `flightcase_webhook_attempts_total` */
  readonly name: string
  readonly description: string
  readonly kind: "counter" | "gauge"
  readonly labels: { readonly [name: string]: string }
  readonly value: number
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')
const line = ({ labels, name, value }: Measurement): string => {
  const given = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${given.length === 0 ? "" : `{${given.join(",")}}`} ${value}`
}
/** Each family once, with its help and type. */
export const measurementsText = (measured: ReadonlyArray<Measurement>): string =>
  [...Map.groupBy(measured, ({ name }) => name)]
    .flatMap(([name, of]) => [
      `# HELP ${name} ${of[0]?.description ?? ""}`,
      `# TYPE ${name} ${of[0]?.kind ?? "gauge"}`,
      ...of.map(line)
    ])
    .map((text) => `${text}\n`)
    .join("")
