import { defaultOutput } from '@matte/core/task/output'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { claimNext, givenTask, givenWorkspace, ownModel } from '../support/factories.ts'
import { smallImage, useApi } from './given.ts'

const world = useApi({ PLANS: '{"plain":{"outputFormats":["png"]}}' })

async function given(plan = 'internal') {
  const caller = await world.caller({ plan: plan === 'plain' ? 'internal' : plan })
  if (plan === 'plain') {
    await world.db.updateTable('workspace').set({ plan }).where('id', '=', caller.workspaceId).execute()
  }
  const imageUrl = await caller.client.upload(await smallImage())
  const create = (output: unknown, headers: Record<string, string> = {}) =>
    caller.client.call<{ id: string }>('POST', '/tasks', { body: { imageUrl, output }, headers })
  return { ...caller, imageUrl, create }
}

const storedOutput = async (id: string) =>
  (await world.db.selectFrom('task').select('output').where('id', '=', id).executeTakeFirstOrThrow()).output

const defaults = {
  format: 'png',
  background: 'transparent',
  crop: false,
  cropMargin: '0px',
  maxSide: null,
  maxPixels: null,
  channels: 'rgba',
  roi: null,
  scale: 'original',
  position: 'original',
  shadow: null,
}
const drop = { kind: 'drop', opacity: 40, blur: '8%', angle: 150, color: '#000000', grow: false }
const region = { left: '10%', top: '0px', right: '90%', bottom: '500px' }

describe('output', () => {
  it.each([
    [undefined, null],
    [null, null],
    [{}, defaults],
    [{ format: null, background: null, crop: null, cropMargin: null, maxSide: null, channels: null }, defaults],
    [{ format: 'webp' }, { ...defaults, format: 'webp' }],
    [
      { format: 'jpeg', background: '#A0b1C2' },
      { ...defaults, format: 'jpeg', background: '#a0b1c2' },
    ],
    [{ background: '#00000080' }, { ...defaults, background: '#00000080' }],
    [{ background: 'transparent' }, defaults],
    [
      { crop: true, cropMargin: '10%' },
      { ...defaults, crop: true, cropMargin: '10%' },
    ],
    [{ cropMargin: '20px' }, { ...defaults, cropMargin: '20px' }],
    [{ maxSide: 1 }, { ...defaults, maxSide: 1 }],
    [{ maxSide: 65_535 }, { ...defaults, maxSide: 65_535 }],
    [{ channels: 'alpha' }, { ...defaults, channels: 'alpha' }],
    [{ cropMargin: '10% 20px' }, { ...defaults, cropMargin: '10% 20px' }],
    [{ cropMargin: '1px 2px 3% 4px' }, { ...defaults, cropMargin: '1px 2px 3% 4px' }],
    [{ maxPixels: 1 }, { ...defaults, maxPixels: 1 }],
    [{ roi: region }, { ...defaults, roi: region }],
    [
      { roi: { ...region, left: '400px', right: '10%' } },
      { ...defaults, roi: { ...region, left: '400px', right: '10%' } },
    ],
    // A scaled foreground is centred unless the caller says where it belongs.
    [{ scale: '80%' }, { ...defaults, scale: '80%', position: 'center' }],
    [
      { scale: '100%', position: 'original' },
      { ...defaults, scale: '100%' },
    ],
    [
      { scale: '10%', position: '0% 100%' },
      { ...defaults, scale: '10%', position: '0% 100%' },
    ],
    [{ position: 'center' }, { ...defaults, position: 'center' }],
    [{ roi: null, scale: null, position: null, maxPixels: null, shadow: null }, defaults],
    [{ shadow: { kind: 'drop' } }, { ...defaults, shadow: drop }],
    [
      { shadow: { kind: 'contact', opacity: null, blur: null, angle: null, color: null, grow: null } },
      { ...defaults, shadow: { ...drop, kind: 'contact', opacity: 75, blur: '12%', angle: 180 } },
    ],
    [
      { shadow: { kind: 'cast', opacity: 0, blur: '0px', angle: 0, color: '#A0B1C2', grow: true } },
      { ...defaults, shadow: { kind: 'cast', opacity: 0, blur: '0px', angle: 0, color: '#a0b1c2', grow: true } },
    ],
    [
      { shadow: { kind: 'cast', opacity: 100, blur: '25%', angle: 359 } },
      { ...defaults, shadow: { ...drop, kind: 'cast', opacity: 100, blur: '25%', angle: 359 } },
    ],
  ])('%j is accepted', async (output, stored) => {
    const { create } = await given()
    const { data, headers } = await create(output)
    expect(headers.get('x-ignored-fields')).toBeNull()
    expect(await storedOutput(data.id)).toEqual(stored)
  })

  it.each([
    [5, '/body/output'],
    ['png', '/body/output'],
    [[], '/body/output'],
    [{ colour: 'red' }, '/body/output/colour'],
    [{ 'a/b~c': 1 }, '/body/output/a~1b~0c'],
    [{ Format: 'png' }, '/body/output/Format'],
    [{ format: 5 }, '/body/output/format'],
    [{ background: 'red' }, '/body/output/background'],
    [{ background: '#fff' }, '/body/output/background'],
    [{ background: '#ffffff0' }, '/body/output/background'],
    [{ background: '#gggggg' }, '/body/output/background'],
    [{ background: 'Transparent' }, '/body/output/background'],
    [{ background: '#ffffff\n' }, '/body/output/background'],
    [{ background: '' }, '/body/output/background'],
    [{ crop: 'yes' }, '/body/output/crop'],
    [{ crop: 1 }, '/body/output/crop'],
    [{ cropMargin: '10' }, '/body/output/cropMargin'],
    [{ cropMargin: 10 }, '/body/output/cropMargin'],
    [{ cropMargin: '-5px' }, '/body/output/cropMargin'],
    [{ cropMargin: '1.5%' }, '/body/output/cropMargin'],
    [{ cropMargin: '100000px' }, '/body/output/cropMargin'],
    [{ cropMargin: '10 px' }, '/body/output/cropMargin'],
    [{ maxSide: 0 }, '/body/output/maxSide'],
    [{ maxSide: 65_536 }, '/body/output/maxSide'],
    [{ maxSide: 10.5 }, '/body/output/maxSide'],
    [{ maxSide: '100' }, '/body/output/maxSide'],
    [{ channels: 'rgb' }, '/body/output/channels'],
    [{ channels: ['alpha'] }, '/body/output/channels'],
    [{ cropMargin: '1px 2px 3px' }, '/body/output/cropMargin'],
    [{ cropMargin: '1px  2px' }, '/body/output/cropMargin'],
    [{ cropMargin: '1px 2px 3px 4px 5px' }, '/body/output/cropMargin'],
    [{ maxPixels: 0 }, '/body/output/maxPixels'],
    [{ maxPixels: 65_535 ** 2 + 1 }, '/body/output/maxPixels'],
    [{ scale: '9%' }, '/body/output/scale'],
    [{ scale: '101%' }, '/body/output/scale'],
    [{ scale: 50 }, '/body/output/scale'],
    [{ position: 'centre' }, '/body/output/position'],
    [{ position: '50%' }, '/body/output/position'],
    [{ position: '50% 101%' }, '/body/output/position'],
    [{ position: '10px 10px' }, '/body/output/position'],
    [{ roi: '10%' }, '/body/output/roi'],
    [{ roi: { left: '0px', top: '0px', right: '10px' } }, '/body/output/roi/bottom'],
    [{ roi: { ...region, left: '101%' } }, '/body/output/roi/left'],
    [{ roi: { ...region, left: 10 } }, '/body/output/roi/left'],
    [{ roi: { ...region, width: '10px' } }, '/body/output/roi/width'],
    [{ shadow: true }, '/body/output/shadow'],
    [{ shadow: 'drop' }, '/body/output/shadow'],
    [{ shadow: {} }, '/body/output/shadow/kind'],
    [{ shadow: { kind: 'soft' } }, '/body/output/shadow/kind'],
    [{ shadow: { kind: null } }, '/body/output/shadow/kind'],
    [{ shadow: { kind: 'drop', opacity: 101 } }, '/body/output/shadow/opacity'],
    [{ shadow: { kind: 'drop', opacity: -1 } }, '/body/output/shadow/opacity'],
    [{ shadow: { kind: 'drop', opacity: 0.5 } }, '/body/output/shadow/opacity'],
    [{ shadow: { kind: 'drop', blur: '26%' } }, '/body/output/shadow/blur'],
    [{ shadow: { kind: 'drop', blur: 10 } }, '/body/output/shadow/blur'],
    [{ shadow: { kind: 'drop', blur: '10' } }, '/body/output/shadow/blur'],
    [{ shadow: { kind: 'drop', angle: 360 } }, '/body/output/shadow/angle'],
    [{ shadow: { kind: 'drop', angle: '90deg' } }, '/body/output/shadow/angle'],
    [{ shadow: { kind: 'drop', color: 'black' } }, '/body/output/shadow/color'],
    [{ shadow: { kind: 'drop', color: '#00000080' } }, '/body/output/shadow/color'],
    [{ shadow: { kind: 'drop', grow: 'yes' } }, '/body/output/shadow/grow'],
    [{ shadow: { kind: 'drop', colour: '#000000' } }, '/body/output/shadow/colour'],
    // A region without area, if the units tell.
    [{ roi: { ...region, right: '10%' } }, '/body/output/roi/right'],
    [{ roi: { ...region, bottom: '0px' } }, '/body/output/roi/bottom'],
  ])('%j is INVALID_PARAMS at %s', async (output, path) => {
    const { create } = await given()
    await expect(create(output)).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path, message: expect.stringMatching(/^(must|is) /) }] },
    })
  })

  it('of a task from an earlier release, which lacks the later options, has their defaults', async () => {
    const { maxPixels, roi, scale, position, shadow, ...early } = { ...defaultOutput, crop: true }
    const model = ownModel()
    const { id } = await givenTask(world.db, await givenWorkspace(world.db), { model })
    await sql`update task set output = ${JSON.stringify(early)}::jsonb where id = ${id}`.execute(world.db)
    expect((await claimNext(world.db, [model]))?.output).toEqual({ ...early, maxPixels, roi, scale, position, shadow })
  })

  it('reports every error at once, in words', async () => {
    const { create } = await given()
    const error = await create({
      colour: 1,
      background: 'red',
      cropMargin: '5em',
      maxSide: 0,
      shadow: { kind: 'soft', blur: '30%', color: 'red' },
    }).catch((fault) => fault)
    const { issues } = error.details as { issues: { path: string; message: string }[] }
    expect(Object.fromEntries(issues.map(({ path, message }) => [path, message]))).toEqual({
      '/body/output/colour': 'is not known here',
      '/body/output/background': 'must be transparent, #rrggbb or #rrggbbaa',
      '/body/output/cropMargin': 'must be one, two or four of a percentage such as 10% or pixels such as 20px',
      '/body/output/maxSide': expect.any(String),
      '/body/output/shadow/kind': 'must be one of drop, contact, cast',
      '/body/output/shadow/blur': 'must be a percentage up to 25% such as 8% or pixels such as 20px',
      '/body/output/shadow/color': 'must be #rrggbb; opacity says how much of it shows',
    })
  })

  it.each(['gif', 'PNG', 'jpg', '', 'avif', 'toString'])(
    'of the format %j is TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
    async (format) => {
      const { create, client } = await given()
      await expect(create({ format })).rejects.toMatchObject({
        status: 400,
        code: 'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
        details: { allowed: ['png', 'webp', 'jpeg'] },
      })
      expect((await client.listTasks()).total).toBe(0)
    },
  )

  it('of a format that the plan lacks is TASK_OUTPUT_FORMAT_NOT_SUPPORTED', async () => {
    const { create } = await given('plain')
    const refused = { status: 400, code: 'TASK_OUTPUT_FORMAT_NOT_SUPPORTED', details: { allowed: ['png'] } }
    await expect(create({ format: 'webp' })).rejects.toMatchObject(refused)
    await expect(create({ format: 'jpeg' })).rejects.toMatchObject(refused)
    expect((await create({ format: 'png' })).status).toBe(201)
    expect((await create(undefined)).status).toBe(201)
  })

  it('is validated after the object and before the limits', async () => {
    const { client, create } = await given('pro')
    const call = (imageUrl: string) => client.call('POST', '/tasks', { body: { imageUrl, output: { format: 'gif' } } })
    await expect(call('')).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await expect(call('unknown')).rejects.toMatchObject({ code: 'TASK_INPUT_FORBIDDEN' })
    const page = await client.upload(Buffer.from('<html></html>'))
    await expect(call(page)).rejects.toMatchObject({ code: 'TASK_FORMAT_NOT_SUPPORTED' })
    await create({})
    await create({})
    await expect(create({})).rejects.toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
    await expect(create({ format: 'gif' })).rejects.toMatchObject({ code: 'TASK_OUTPUT_FORMAT_NOT_SUPPORTED' })
  })
})

describe('the default plans', () => {
  it('give Free only PNG, and the others all three formats', async () => {
    const { defaultPlans } = await import('@matte/core/workspace/plan')
    const formats = Object.fromEntries(Object.entries(defaultPlans).map(([name, plan]) => [name, plan.outputFormats]))
    const all = ['png', 'webp', 'jpeg']
    expect(formats).toEqual({ free: ['png'], pro: all, business: all, enterprise: all, internal: all })
    expect((await givenWorkspace(world.db, { plan: 'free' })).plan.outputFormats).toEqual(['png'])
  })
})
