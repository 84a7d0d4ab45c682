import { expect, it } from 'vitest'
import { readHeaders } from './headers.ts'

it('reads one header a line; a name alone removes one', () => {
  expect(readHeaders('Authorization: Bearer a:b\n\n X-Team : blue \nX-Old\nX-Empty:')).toEqual({
    Authorization: 'Bearer a:b',
    'X-Team': 'blue',
    'X-Old': null,
    'X-Empty': null,
  })
  expect(readHeaders(' \n')).toBeUndefined()
})
