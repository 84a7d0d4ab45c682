// Service accounts that pods of pools can run as: the value of POD_SERVICE_ACCOUNTS (A167).

/** Accounts of the chart, without the name of the release. */
const components = ['api', 'delete-pools', 'dispatcher', 'operator', 'setup', 'test', 'worker']

/** Names of service accounts, separated by commas. @throws Error when one is no such name */
export function parseServiceAccounts(value: string): readonly string[] {
  const names = value.split(',').map((name) => name.trim())
  const wrong = names.find((name) => name.length > 253 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name))
  if (wrong !== undefined) {
    throw new Error(`"${wrong}" is no name of a service account: write names such as models-reader,other-reader`)
  }
  return [...new Set(names)]
}

/**
 * Returns the first name that the chart gives an account of the release by default. The chart refuses accounts that
 * values rename (templates/checks.yaml).
 */
export const findOwnAccount = (names: readonly string[], release: string | undefined): string | undefined =>
  release === undefined ? undefined : names.find((name) => components.some((one) => name === `${release}-${one}`))
