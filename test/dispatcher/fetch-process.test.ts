// Processes as an operator starts them: the API asks, a nudge wakes the dispatcher, the dispatcher's answer ends the
// wait. Nothing outside this machine can be reached, so the name does not resolve.
import { expect, it } from 'vitest'
import { useStack } from '../support/stack.ts'

const on = { UPLOADS_FETCH_URLS: 'true' }
const stack = useStack({ env: { api: on, dispatcher: on }, processes: ['api', 'dispatcher'] })

it('an image by URL passes from the API to the dispatcher and back', async () => {
  const body = { url: 'http://nowhere.invalid/cat.jpg' }
  await expect(stack.client.call('POST', '/uploads/fetch', { body })).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
    details: { issues: [{ path: '/body/url', message: 'must be reachable at a public internet address' }] },
  })
  const rows = await stack.db.selectFrom('upload_fetch').select(['outcome', 'url', 'upload_url']).execute()
  expect(rows).toEqual([{ outcome: 'UNREACHABLE', url: null, upload_url: null }])
})
