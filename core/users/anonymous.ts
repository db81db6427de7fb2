/** What takes the place of the name and the address of a person who was anonymised, wherever they are shown. */

export const anonymous_name = "Anonymised Member"
/** Addresses under `.invalid` reach nobody (RFC 2606); with the id in it, it is nobody else's. */
export const anonymousEmail = (user_id: number): string => `anonymised-${user_id}@example.invalid`
