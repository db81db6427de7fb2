/** What only a running server needs to send webhooks: loaded when it begins to. */
export { makeDispatcher } from "./dispatcher.ts"
export { mailOwner } from "./notices.ts"
export { sender } from "./send.ts"
