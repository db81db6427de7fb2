/** Quote versions of an opportunity (rules/opportunities 13). */
import { formatMoney } from "../../../values/money.ts"
import { edit, one, opportunity_items, opportunity_versions, path, read, version } from "../tables/index.ts"
import { version_types, type ItemRow, type VersionRow } from "../tables/index.ts"
import { Effect } from "effect"
import { code, command, created, get, integer, listOf, longText, money, noContent, ok } from "../../../kernel/index.ts"
import { ref, render, renderById, renderOne, sameJson, Shown, Store, text, viewContext } from "../../../kernel/index.ts"
import type { Endpoint, Id, Input, JsonObject } from "../../../kernel/index.ts"
import { hasShortageCheck, itemResource, loadDecisionState, versionResource } from "../state/index.ts"
import {
  accepted,
  acceptVersion,
  activateVersion,
  createVersion,
  declined,
  declineVersion,
  deleteVersion,
  relabelVersion,
  sendVersion,
  sent
} from "./decide.ts"

// Compares two quote versions line by line (rules/opportunities 13).

/** The compared fields of a line, as named in responses. */
const compared = [
  "name",
  "description",
  "item_id",
  "parent_path",
  "quantity",
  "unit_price",
  "discount_percent",
  "charge_period",
  "transaction_type",
  "starts_at",
  "ends_at",
  "is_optional",
  "total"
] as const

interface VersionLines {
  readonly version: VersionRow
  readonly lines: ReadonlyArray<ItemRow>
  /** The same lines, in the same order, as in responses. */
  readonly shown: ReadonlyArray<JsonObject>
}
/** The id of the original line, which all its copies in later versions share. */
const originOf = (line: ItemRow): number => line.origin_item_id ?? line.id

/**
 * `added`: lines only in the target; `removed`: only in the source; `changed`: in both but different, field by field.
 */
const versionDiff = (source: VersionLines, target: VersionLines) => {
  const byOrigin = ({ lines, shown }: VersionLines) =>
    new Map(
      lines.flatMap((line, at) => {
        const answer = shown[at]
        return answer === undefined ? [] : [[originOf(line), answer] as const]
      })
    )
  const [before, after] = [byOrigin(source), byOrigin(target)]
  const { currency_code } = target.version
  return {
    source_version_id: source.version.id,
    source_version_number: source.version.version_number,
    target_version_id: target.version.id,
    target_version_number: target.version.version_number,
    added: [...after].filter(([origin]) => !before.has(origin)).map(([, line]) => line),
    removed: [...before].filter(([origin]) => !after.has(origin)).map(([, line]) => line),
    changed: [...after].flatMap(([origin, line]) => {
      const earlier = before.get(origin)
      if (earlier === undefined) return []
      const changes = Object.fromEntries(
        compared
          .filter((name) => !sameJson(earlier[name] ?? null, line[name] ?? null))
          .map((name) => [name, { from: earlier[name] ?? null, to: line[name] ?? null }])
      )
      return Object.keys(changes).length === 0
        ? []
        : [
            {
              source_item_id: Number(earlier["id"]),
              target_item_id: Number(line["id"]),
              name: String(line["name"]),
              changes
            }
          ]
    }),
    source_total: formatMoney(source.version.charge_total, currency_code),
    target_total: formatMoney(target.version.charge_total, currency_code),
    net_change: formatMoney(target.version.charge_total - source.version.charge_total, currency_code)
  }
}

const versions = `${path}/{id}/versions`
const answerWith = (input: Input) => (result: Id) =>
  renderById(versionResource, result.id, input.query, viewContext(input))

const versionShown = { version: Shown.row(() => versionResource) }
const lines = Shown.rows(() => itemResource)
const diffShown = {
  source_version_id: integer(),
  source_version_number: integer(),
  target_version_id: integer(),
  target_version_number: integer(),
  added: lines,
  removed: lines,
  changed: Shown.objects({
    source_item_id: integer(),
    target_item_id: integer(),
    name: text(),
    changes: Shown.map(Shown.keys({ from: Shown.anything(), to: Shown.anything() }), {
      describe: "Old and new value, by changed field"
    })
  }),
  source_total: money(),
  target_total: money(),
  net_change: money()
}

const list = get(versions, {
  answer: Shown.page(() => versionResource),
  name: "opportunities.versions",
  summary: "List the versions of a quote",
  ...read,
  params: one,
  run: (input) => listOf(versionResource, input, { where: { opportunity_id: input.rows.id.id } })
})
const show = get(`${versions}/{version}`, {
  answer: versionShown,
  name: "opportunities.show_version",
  summary: "Show one version of a quote",
  ...read,
  params: version,
  run: (input) => Effect.map(renderOne(versionResource, input.rows.version, input.query, viewContext(input)), ok)
})

const create = command("POST", versions, {
  answer: versionShown,
  name: "opportunities.create_version",
  summary: "Create a revision or alternative of a quote, and make it active",
  ...edit,
  params: one,
  success_status: 201,
  creates: [opportunity_versions],
  fields: {
    version_type: code(version_types, { default: 0 }),
    label: text({ nullable: true }),
    source_version_id: ref("opportunity_versions", { nullable: true }),
    notes: longText({ nullable: true })
  },
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: hasShortageCheck(input.rows.id, input.settings) }),
  decide: (state, input, context) => createVersion(state, input.values, context),
  respond: (result, input) => Effect.map(answerWith(input)(result), created)
})

const activate = command("POST", `${versions}/{version}/activate`, {
  answer: versionShown,
  name: "opportunities.activate_version",
  summary: "Make a version of a quote active",
  ...edit,
  params: version,
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: hasShortageCheck(input.rows.id, input.settings) }),
  decide: (state, input, context) => activateVersion(state, input.rows.version, context),
  respond: (result, input) => Effect.map(answerWith(input)(result), ok)
})
const send = command("POST", `${versions}/{version}/send`, {
  answer: versionShown,
  name: "opportunities.send_version",
  summary: "Record that a version of a quote was sent",
  ...edit,
  params: version,
  fields: { sent_to: ref("members", { nullable: true }), sent_via: text({ nullable: true }) },
  facts: (input) => loadDecisionState(input.rows.id, input),
  decide: (state, input, context) =>
    sendVersion(state, input.rows.version, {
      status: sent,
      sent_to: input.values.sent_to ?? null,
      sent_via: input.values.sent_via ?? null,
      sent_at: context.now
    }),
  respond: (result, input) => Effect.map(answerWith(input)(result), ok)
})
const accept = command("POST", `${versions}/{version}/accept`, {
  answer: versionShown,
  name: "opportunities.accept_version",
  summary: "Record that a version of a quote was accepted",
  ...edit,
  params: version,
  fields: { accepted_by: ref("members", { nullable: true }) },
  facts: (input) => loadDecisionState(input.rows.id, input),
  decide: (state, input, context) =>
    acceptVersion(state, input.rows.version, {
      status: accepted,
      accepted_by: input.values.accepted_by ?? null,
      accepted_at: context.now
    }),
  respond: (result, input) => Effect.map(answerWith(input)(result), ok)
})
const decline = command("POST", `${versions}/{version}/decline`, {
  answer: versionShown,
  name: "opportunities.decline_version",
  summary: "Record that a version of a quote was declined",
  ...edit,
  params: version,
  fields: { reason: text({ nullable: true, max: 1000 }) },
  facts: (input) => loadDecisionState(input.rows.id, input),
  decide: (state, input, context) =>
    declineVersion(state, input.rows.version, {
      status: declined,
      decline_reason: input.values.reason ?? null,
      declined_at: context.now
    }),
  respond: (result, input) => Effect.map(answerWith(input)(result), ok)
})

const relabel = command("PATCH", `${versions}/{version}`, {
  answer: versionShown,
  name: "opportunities.relabel_version",
  summary: "Change or clear the label of a quote's version",
  ...edit,
  params: version,
  fields: { label: text({ nullable: true, on_null: "clear" }) },
  check: (_values, body) => (Object.hasOwn(body, "label") ? {} : { label: ["The label field must be present."] }),
  facts: (input) => loadDecisionState(input.rows.id, input),
  decide: (state, input) => relabelVersion(state, input.rows.version, input.values.label ?? null),
  respond: (result, input) => Effect.map(answerWith(input)(result), ok)
})
const remove = command("DELETE", `${versions}/{version}`, {
  name: "opportunities.delete_version",
  summary: "Delete an inactive version of a quote, with its lines",
  ...edit,
  params: version,
  fields: { reason: text({ nullable: true, max: 1000 }) },
  facts: (input) => loadDecisionState(input.rows.id, input, { stock: hasShortageCheck(input.rows.id, input.settings) }),
  decide: (state, input, context) => deleteVersion(state, input.rows.version, input.values.reason ?? null, context),
  respond: () => Effect.succeed(noContent)
})

const linesOf = Effect.fnUntraced(function* (row: VersionRow, input: Input) {
  const lines = yield* Store.find(opportunity_items, { version_id: row.id }, { order: ["path", "id"] })
  return { version: row, lines, shown: yield* render(itemResource, lines, [], viewContext(input)) }
})
const diff = get(`${versions}/{from}/diff/{to}`, {
  answer: { diff: Shown.keys(diffShown) },
  name: "opportunities.diff_versions",
  summary: "Compare two versions of a quote: lines and prices",
  ...read,
  params: { ...one, from: version.version, to: version.version },
  run: Effect.fnUntraced(function* (input) {
    return ok({ diff: versionDiff(yield* linesOf(input.rows.from, input), yield* linesOf(input.rows.to, input)) })
  })
})

export const versionEndpoints: ReadonlyArray<Endpoint> = [
  list,
  diff,
  show,
  create,
  activate,
  send,
  accept,
  decline,
  relabel,
  remove
]
