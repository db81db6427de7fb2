/** Asks for the customer of a new quote, who is searched for or created. */
import { type Row, rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { foldForSearch } from "../../../../core/kernel/store/search-index.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { membersFound } from "../../../context/resolve-id.ts"
import type * as terminal from "../../../output/prompt.ts"

/** Functions that ask questions; replaced in tests. */
export type Questions = Pick<typeof terminal, "promptText" | "choose">

const found_max = 15
/** Flags with the id of an existing customer, or the data of a new one. */
type CustomerFlags = { readonly [flag in "member" | "newCustomer" | "email" | "phone"]?: string }
const askForNewCustomer = async ({ promptText: ask }: Questions, name: string): Promise<CustomerFlags> => {
  const newCustomer = await ask("Name", {
    default: name,
    check: (text) => (text === "" ? "A customer needs a name." : undefined)
  })
  const email = await ask("E-mail (nothing for none)", {
    check: (text) => (text === "" || /^\S+@\S+$/.test(text) ? undefined : "That is no e-mail address.")
  })
  const phone = await ask("Phone (nothing for none)")
  return { newCustomer, ...(email === "" ? {} : { email }), ...(phone === "" ? {} : { phone }) }
}

type Customer = Pick<Row<"member">, "id" | "name" | "account_number" | "is_on_stop"> & { readonly contact?: string }
const known = (context: CommandContext, { id, is_on_stop, name }: Customer): CustomerFlags => {
  if (is_on_stop) context.note(`! ${name} is on stop.`)
  return { member: String(id) }
}

/** Active organisations and contacts found by a text; of contacts their organisations instead, if they have any. */
const customersFound = async (context: CommandContext, part: string): Promise<ReadonlyArray<Customer>> => {
  const customers = new Map<number, Customer>()
  for (const one of await membersFound(context, part, found_max)) {
    if (!one.is_active) continue
    if (one.membership_type === "organisation") customers.set(one.id, one)
    if (one.membership_type !== "contact") continue
    const query = [["include", "organisations"]] as const
    const { parent_members } = rowIn(await context.read(`/api/v1/members/${one.id}`, query), "member")
    const parents = parent_members.filter((row) => row.related_membership_type === "Organisation")
    if (parents.length === 0) customers.set(one.id, one)
    for (const { related_id } of parents)
      if (!customers.has(related_id)) {
        const row = rowIn(await context.read(`/api/v1/members/${related_id}`), "member")
        customers.set(related_id, { ...row, contact: one.name })
      }
  }
  return [...customers.values()]
}
/**
 * Existing customer with the new one's name, if the user means that one; else undefined. Asks on a terminal, otherwise
 * it is an error.
 */
export const sameNamed = async (
  context: CommandContext,
  name: string,
  questions?: Pick<Questions, "choose">
): Promise<number | undefined> => {
  const folded = foldForSearch(name.trim())
  const same = (await customersFound(context, name)).filter((one) => foldForSearch(one.name) === folded)
  const [first] = same
  if (first === undefined) return undefined
  if (!context.interactive)
    throw usageError(
      `${first.name} is a customer already (id ${same.map(({ id }) => id).join(", ")}).`,
      `Give --member ${first.id} for that one, or --yes with --new-customer for another of the same name.`
    )
  const { choose } = questions ?? (await import("../../../output/prompt.ts"))
  const chosen = await choose(`${first.name} is a customer already`, [
    ...same.map((one) => ({ name: `take ${customerText(one)} (id ${one.id})`, value: one.id })),
    { name: "make another of the same name", value: 0 }
  ])
  return chosen === 0 ? undefined : chosen
}
const customerText = ({ account_number, contact, name }: Customer): string =>
  [name, account_number, contact === undefined ? null : `(${contact})`]
    .filter((text) => typeof text === "string")
    .join("  ")

/** Asks until a customer is found, created or skipped. */
export const askForMember = async (context: CommandContext, questions: Questions): Promise<CustomerFlags> => {
  const { promptText: ask, choose } = questions
  for (;;) {
    const part = await ask("Customer (name, number, e-mail or a contact; nothing for none)")
    if (part === "") return {}
    const members = await customersFound(context, part)
    const [first, ...others] = members
    if (first !== undefined && others.length === 0) {
      context.note(`  ${first.name}`)
      return known(context, first)
    }
    if (first === undefined) context.note(`No customer is found by ${JSON.stringify(part)}.`)
    const [question, none] = first === undefined ? ["And now", "look again"] : ["Which", "none of them"]
    const chosen = await choose(question, [
      ...members.map((one) => ({ name: customerText(one), value: String(one.id) })),
      { name: none, value: "" },
      { name: "a new customer", value: "new" }
    ])
    if (chosen === "new") return askForNewCustomer(questions, part)
    const member = members.find((one) => String(one.id) === chosen)
    if (member !== undefined) return known(context, member)
  }
}
