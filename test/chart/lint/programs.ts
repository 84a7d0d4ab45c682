// Programs that validate the chart. A missing one skips its tests, with the reason.
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

/** Whether a program is missing in $PATH; reported once. `matching`: part of the path or title of its tests. */
export function lacks(program: string, args: readonly string[], matching: string): boolean {
  const is = !starts(program, args)
  if (is) reportSkip({ matching, reason: `${program} is not in $PATH` })
  return is
}

type Helm = { readonly name: string; readonly program: string; readonly missing: boolean }

/** Helm, and Helm 3 as $HELM3 or `helm3` in $PATH. */
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
