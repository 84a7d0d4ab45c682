// Images that the client sends, with the expected outcome of each.

export type Kind = {
  readonly file: string
  readonly contentType: string
  readonly size: readonly [width: number, height: number]
  readonly end:
    | { readonly status: 'succeeded' }
    | { readonly status: 'failed'; readonly reason: string }
    | { readonly refusedWith: string }
}

const succeeded = { status: 'succeeded' } as const

export const kinds: Readonly<Record<string, Kind>> = {
  small: { file: 'small.png', contentType: 'image/png', size: [128, 96], end: succeeded },
  megapixel: { file: 'megapixel.jpg', contentType: 'image/jpeg', size: [1_200, 900], end: succeeded },
  large: { file: 'large.jpg', contentType: 'image/jpeg', size: [4_000, 3_000], end: succeeded },
  empty: { file: 'empty.png', contentType: 'image/png', size: [640, 480], end: succeeded },
  damaged: {
    file: 'damaged.png',
    contentType: 'image/png',
    size: [0, 0],
    end: { status: 'failed', reason: 'INPUT_UNREADABLE' },
  },
  foreign: {
    file: 'foreign.png',
    contentType: 'image/png',
    size: [0, 0],
    end: { refusedWith: 'TASK_FORMAT_NOT_SUPPORTED' },
  },
}

/** All kinds in turn, endlessly. */
export const mix = [
  ...['small', 'megapixel', 'empty', 'small', 'damaged', 'small', 'megapixel', 'foreign'],
  ...['small', 'empty', 'small', 'megapixel', 'large'],
]
