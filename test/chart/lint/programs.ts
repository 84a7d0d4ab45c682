// Programs that judge the chart. One that is not here skips its tests, with the reason.
import { execFileSync } from 'node:child_process'
import { reportSkip } from '../../support/report/skips.ts'

export const starts = (program: string, args: readonly string[]): boolean => {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 60_000 })
    return true
  } catch {
    return false
  }
}

/** True, and reported once, when a program is not in $PATH. `matching`: a part of the path or title of its tests. */
export function lacks(program: string, args: readonly string[], matching: string): boolean {
  const is = !starts(program, args)
  if (is) reportSkip({ matching, reason: `${program} is not in $PATH` })
  return is
}

type Helm = { readonly name: string; readonly program: string; readonly missing: boolean }

/** Helm as it is found, and Helm 3 beside it: $HELM3, or `helm3` in $PATH. */
export function findHelms(matching: string): readonly Helm[] {
  const helm3 = process.env.HELM3 ?? 'helm3'
  const has3 = starts(helm3, ['version'])
  if (!has3) reportSkip({ matching: 'the chart, by Helm 3', reason: 'helm3 is not in $PATH, and $HELM3 names none' })
  const has = starts('helm', ['version'])
  if (!has) reportSkip({ matching, reason: 'helm is not in $PATH' })
  return [
    { name: 'helm', program: 'helm', missing: !has },
    { name: 'Helm 3', program: helm3, missing: !has3 },
  ]
}
