// Values of links in mails: one-time codes and referral codes. They leave the address bar before the page is drawn, so
// no history, bookmark or screen share keeps them. A press of the user sends them in a POST.

export type LinkValues = {
  /** One-time code of a mail. */
  readonly token?: string | undefined
  /** Referral code. */
  readonly ref?: string | undefined
}

const names = ['token', 'ref'] as const

/** The values in an address, and the address without them. */
export function splitLink(address: string): { readonly values: LinkValues; readonly address: string } {
  const url = new URL(address)
  const values: { -readonly [Name in keyof LinkValues]: string } = {}
  for (const name of names) {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    if (value) values[name] = value
  }
  return { values, address: url.href }
}

/** Pages that mails link to. Other pages keep their parameters. */
const linkPaths =
  /^\/(verify-email|reset-password|confirm-email|teams\/accept|register|sign-up|login|sign-in|forgot-password)\/?$/

let taken: LinkValues = {}

/** Called once, before the router reads the address. */
export function takeLinkValues(): void {
  if (!linkPaths.test(location.pathname)) return
  const { values, address } = splitLink(location.href)
  taken = values
  if (address !== location.href) history.replaceState(history.state, '', address)
}

/** Values of the link that opened this tab. A reload has none. */
export const linkValues = (): LinkValues => taken

/** After the code has been spent. */
export function forgetLinkToken(): void {
  taken = { ref: taken.ref }
}
