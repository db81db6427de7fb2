/** What tests of servers and devices ask over HTTP, and the people whose tokens their devices hold. */
import { expect } from "vitest"

export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  token?: string
) => Promise<{ readonly status: number; readonly body: any }>
/** Asks below that address, which may change between two questions; as the owner unless a token is given. */
export const askBelow =
  (address: () => string, owner_token: string): Ask =>
  async (method, path, body, token = owner_token) => {
    const response = await fetch(address() + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }

/** Asks for what must succeed, and gives the answer's body. */
export type Must = (method: string, path: string, body?: unknown, token?: string) => Promise<any>
export const mustOf =
  (ask: Ask): Must =>
  async (method, path, body, token) => {
    const answer = await ask(method, path, body, token)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    return answer.body
  }

export interface NewPerson {
  readonly name: string
  /** Of the token; without them it opens all that the person may do. */
  readonly abilities?: ReadonlyArray<string>
}
export interface Person {
  readonly user_id: number
  readonly member_id: number
  readonly token: string
}
/** Lets somebody in with roles there are, and gives them a token. */
export type LetIn = (person: NewPerson & { readonly roles: ReadonlyArray<string> }) => Promise<Person>
/** The same with a role of their own, of their name, that permits just this. */
export type LetInWith = (
  person: NewPerson & { readonly permissions: ReadonlyArray<string> }
) => Promise<Person & { readonly role_id: number }>

export const lettingIn = (ask: Ask): { readonly letIn: LetIn; readonly letInWith: LetInWith } => {
  const must = mustOf(ask)
  const letIn: LetIn = async ({ abilities = ["*"], name, roles }) => {
    const email = `${name.replaceAll(" ", "-").toLowerCase()}@example.com`
    const { user } = await must("POST", "users", { name, email, roles, active: true })
    const { token } = await must("POST", "tokens", { name: `${name}'s`, abilities, user_id: user.id })
    return { user_id: user.id, member_id: user.member_id, token: token.secret }
  }
  return {
    letIn,
    letInWith: async ({ permissions, ...person }) => {
      const { role } = await must("POST", "roles", { name: person.name, permissions })
      return { ...(await letIn({ ...person, roles: [role.name] })), role_id: role.id }
    }
  }
}
