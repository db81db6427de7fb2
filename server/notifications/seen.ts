/** Which of their rows somebody is shown: those they may still see what they are about of. */
import { read as invoices_read } from "../../core/billing/paths.ts"
import { read as documents_read } from "../../core/documents/paths.ts"
import type { Where } from "../../core/kernel/row-change.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import { read as opportunities_read } from "../../core/opportunities/paths.ts"
import { read as purchase_orders_read } from "../../core/procurement/paths.ts"
import { activities_permission } from "./causes/activities.ts"
import { documents_with_costs } from "./causes/documents.ts"
import { users_permission } from "./causes/users.ts"
import { maySee } from "./people.ts"

/** Every set of permissions that rows are seen with; the first is none. */
export const all_seen_with: ReadonlyArray<string> = [
  "",
  opportunities_read.permission,
  invoices_read.permission,
  purchase_orders_read.permission,
  documents_read.permission,
  documents_with_costs,
  activities_permission,
  users_permission
]

/** Rows of this person, as they stand in the inbox; rights lost since take the rows with them. */
export const inboxOf = (viewer: Viewer): Where => ({
  user_id: viewer.user_id,
  in_inbox: true,
  seen_with: all_seen_with.filter((seen_with) => maySee(viewer, seen_with))
})
