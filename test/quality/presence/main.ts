// Error rates of the rule for empty pictures (cut-out/foreground.ts) and of alternatives. A rule: the `area`-th highest
// value of the mask is at least `least`. `tune` chooses the numbers; `report` reports the errors.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { joinMasks } from '@matte/controller/worker/augmentation/join-masks'
import { mirror, mirrorBack } from '@matte/controller/worker/augmentation/mirror'
import { foregroundRule, hasForeground } from '@matte/controller/worker/image/cut-out/foreground'
import type { Photo } from '@matte/controller/worker/image/cut-out/sample-cells'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import { toModelInput } from '@matte/controller/worker/image/model-input'
import { rootDir } from '@matte/local/paths'
import type { Part } from '../data/case.ts'
import { drawCase, listCases } from '../data/data-set.ts'
import { openModel } from '../run/model.ts'
import { listEmpties } from './empties.ts'

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: join(rootDir, 'models/u2netp/1/model.onnx') },
    /** 2: joined with the mask of the mirror image, as in the product. */
    views: { type: 'string', default: '1' },
    misses: { type: 'boolean', default: false },
  },
})

type Judged = {
  readonly name: string
  readonly kind: string
  readonly isEmpty: boolean
  /** Mask values in descending order, and the verdict of the product's rule. */
  readonly sorted: Uint8Array
  readonly isFound: boolean
}
type Rule = { readonly area: number; readonly least: number }
type Errors = { readonly missed: number; readonly invented: number }

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const { size, ask, close } = await openModel(values.model)
const tune = await judgeAll('tune')
const report = await judgeAll('report')
await close()

say(`\nmodel ${values.model}, ${values.views} view(s), errors of tune | of report`)
const rules = candidates().map((rule) => ({ rule, errors: errorsOf(tune, byRule(rule)) }))
const [best] = rules.toSorted((a, b) => sumOf(a.errors) - sumOf(b.errors))
for (const area of new Set(rules.map(({ rule }) => rule.area))) {
  for (const least of [64, 102, 128, 153, 179, 204, 230])
    sayRule(`area ${area}, least ${least}`, byRule({ area, least }))
}
if (best !== undefined) {
  // The middle one of equally good rules is farthest from both kinds of error.
  const equal = rules.filter(({ errors }) => sumOf(errors) <= sumOf(best.errors) + 1e-9)
  say('\nleast errors on tune:')
  for (const area of new Set(equal.map(({ rule }) => rule.area))) {
    const all = equal.filter(({ rule }) => rule.area === area).map(({ rule }) => rule.least)
    const least = all[all.length >> 1] as number
    sayRule(`area ${area}, least ${least} (${all[0]} to ${all.at(-1)})`, byRule({ area, least }))
  }
}
say('')
sayRule(`the product: area ${foregroundRule.area}, least ${foregroundRule.least}`, ({ isFound }) => isFound)
say('\nby kind, of the product, report half:')
for (const [kind, all] of Map.groupBy(report, (one) => `${one.isEmpty ? 'empty: ' : ''}${one.kind}`)) {
  const wrong = all.filter((one) => one.isFound === one.isEmpty)
  say(`  ${kind.padEnd(18)} ${wrong.length} of ${all.length} wrong`)
  if (values.misses) for (const { name, sorted } of wrong) say(`    ${name}: highest ${sorted[0]}`)
}

async function judgeAll(part: Part): Promise<Judged[]> {
  const cases = await listCases({ parts: [part], large: false, say })
  const judged: Judged[] = []
  for (const one of cases) judged.push(await judge(one, false, (await drawCase(one, say)).file))
  for (const one of listEmpties(part)) judged.push(await judge(one, true, await one.draw()))
  say(`${part}: ${cases.length} with a subject, ${judged.length - cases.length} without`)
  return judged
}

async function judge(one: { name: string; kind: string }, isEmpty: boolean, file: Buffer): Promise<Judged> {
  const photo = await decodePhoto(file, 50_000_000)
  const mask = await maskOf(photo)
  const { name, kind } = one
  return { name, kind, isEmpty, sorted: mask.toSorted().reverse(), isFound: hasForeground(mask) }
}

async function maskOf(photo: Photo): Promise<Uint8Array> {
  const input = await toModelInput(photo, size)
  const mask = await ask(input)
  if (values.views !== '2') return mask
  const joined = Uint8Array.from(mask)
  joinMasks(joined, mirrorBack(await ask(mirror(input, size)), size), photo)
  return joined
}

function candidates(): Rule[] {
  return [1, 16, 64, 256, 1_024].flatMap((area) => Array.from({ length: 120 }, (_, i) => ({ area, least: 10 + i * 2 })))
}

function byRule({ area, least }: Rule): (one: Judged) => boolean {
  return ({ sorted }) => (sorted[area - 1] ?? 0) >= least
}

function errorsOf(all: readonly Judged[], isFound: (one: Judged) => boolean): Errors {
  const [full, empty] = [all.filter(({ isEmpty }) => !isEmpty), all.filter(({ isEmpty }) => isEmpty)]
  return {
    missed: full.filter((one) => !isFound(one)).length / full.length,
    invented: empty.filter(isFound).length / empty.length,
  }
}

function sumOf({ missed, invented }: Errors): number {
  return missed + invented
}

function sayRule(name: string, isFound: (one: Judged) => boolean): void {
  const percent = ({ missed, invented }: Errors): string =>
    `missed ${(missed * 100).toFixed(1)} %, invented ${(invented * 100).toFixed(1)} %`
  say(`${name.padEnd(34)} ${percent(errorsOf(tune, isFound))} | ${percent(errorsOf(report, isFound))}`)
}
