/** Name and e-mail address shown for anonymised persons. */

export const anonymous_name = "Anonymised Member"
/** Addresses under `.invalid` reach nobody (RFC 2606); the id makes them unique. */
export const anonymousEmail = (user_id: number): string => `anonymised-${user_id}@example.invalid`
