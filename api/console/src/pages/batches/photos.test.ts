import { expect, it } from 'vitest'
import { commonFolder, sortFolder } from './photos.ts'

const file = (path: string, size = 10) => ({ path, file: { size } as File })

it('takes photos in the order of their paths and counts the others', () => {
  const files = ['b/2.JPG', 'b/1.webp', 'b/.DS_Store', 'b/notes.txt', 'a/x.png', 'b/Thumbs.db'].map((path) =>
    file(path),
  )
  const folder = sortFolder([...files, file('b/huge.png', 101), file('b/empty.png', 0)], 100, { name: 'b' })
  expect(folder.photos.map(({ path }) => path)).toEqual(['a/x.png', 'b/1.webp', 'b/2.JPG'])
  expect(folder).toMatchObject({ name: 'b', otherCount: 1, tooLargeCount: 2 })
})

it('names a run by the folder that all files share', () => {
  expect(commonFolder(['shoes/1.png', 'shoes/red/2.png'])).toBe('shoes')
  expect(commonFolder(['shoes/1.png', 'hats/2.png'])).toBeUndefined()
  expect(commonFolder(['1.png'])).toBeUndefined()
  expect(commonFolder([])).toBeUndefined()
})
