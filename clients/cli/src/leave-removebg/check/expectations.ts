// Requests, and what version 1.0 of the API of remove.bg answers to them by its public documentation.

/** The bundled photo. */
export const photoSize = { width: 680, height: 440 } as const

const megapixel = 1_000_000

export type Request = {
  readonly method?: 'GET'
  /** Below the URL of the service; without it, `/v1.0/removebg`. */
  readonly path?: string
  readonly fields?: Readonly<Record<string, string>>
  /** The image: the photo, a picture of one colour, or bytes that are no image. Without it, none is sent. */
  readonly image?: 'photo' | 'plain' | 'text'
  /** How fields and image are sent; a multipart form by default, in which the image is a file. */
  readonly body?: 'form' | 'json'
  readonly withBackground?: true
  readonly accept?: string
  /** Without it, the key in the header X-Api-Key. */
  readonly credential?: 'bearer' | 'none' | 'wrong'
  /** So many of the same at once. */
  readonly times?: number
}

export type Expected = {
  readonly status: number
  /** Code of the only error. */
  readonly code?: string
  readonly format?: 'png' | 'jpeg' | 'webp' | 'zip'
  readonly alpha?: boolean
  readonly size?: 'photo' | 'smaller' | { readonly maxPixels: number }
  /** Files of a ZIP. */
  readonly names?: readonly string[]
  /** The image is in `data.result_b64`. */
  readonly json?: true
  /** Members of a JSON response by their paths, with their types. */
  readonly members?: Readonly<Record<string, 'number' | 'string'>>
  /** A response may lack this header, and others may not. */
  readonly without?: 'x-type'
}

export type Expectation = { readonly name: string; readonly request: Request; readonly expected: Expected }

const full = { size: 'full' }
const cutOut = { status: 200, format: 'png', alpha: true, size: 'photo' } as const
const preview = { ...cutOut, size: { maxPixels: 0.25 * megapixel } } as const

/** A photo as a file with fields. */
const withFields = (
  fields: Readonly<Record<string, string>>,
  more: Partial<Expected> = {},
): Omit<Expectation, 'name'> => ({
  request: { image: 'photo', fields: { ...full, ...fields } },
  expected: { ...cutOut, ...more },
})
const refused = (request: Request, code?: string, status = 400): Omit<Expectation, 'name'> => ({
  request,
  expected: { status, ...(code !== undefined && { code }) },
})

const byName: Readonly<Record<string, Omit<Expectation, 'name'>>> = {
  'account shows credits': {
    request: { method: 'GET', path: '/v1.0/account' },
    expected: {
      status: 200,
      members: {
        'data.attributes.credits.total': 'number',
        'data.attributes.credits.subscription': 'number',
        'data.attributes.credits.payg': 'number',
        'data.attributes.credits.enterprise': 'number',
        'data.attributes.api.free_calls': 'number',
        'data.attributes.api.sizes': 'string',
      },
    },
  },
  'account without a key': refused({ method: 'GET', path: '/v1.0/account', credential: 'none' }, 'auth_failed', 403),
  'key is missing': refused({ image: 'photo', credential: 'none' }, 'auth_failed', 403),
  'key is wrong': refused({ image: 'photo', credential: 'wrong' }, 'auth_failed', 403),
  'key as a bearer token': { request: { image: 'photo', credential: 'bearer' }, expected: preview },

  'image_file in a multipart form': withFields({}),
  'image_file_b64 in a form': { request: { image: 'photo', body: 'form', fields: full }, expected: cutOut },
  'image_file_b64 in JSON': { request: { image: 'photo', body: 'json', fields: full }, expected: cutOut },
  'response as JSON': {
    request: { image: 'photo', accept: 'application/json', fields: full },
    expected: {
      ...cutOut,
      json: true,
      members: {
        'data.result_b64': 'string',
        'data.foreground_top': 'number',
        'data.foreground_left': 'number',
        'data.foreground_width': 'number',
        'data.foreground_height': 'number',
      },
    },
  },
  'response as an image': { request: { image: 'photo', accept: 'image/*', fields: full }, expected: cutOut },

  'size is preview by default': { request: { image: 'photo' }, expected: preview },
  'size=preview': withFields({ size: 'preview' }, preview),
  'size=small': withFields({ size: 'small' }, preview),
  'size=regular': withFields({ size: 'regular' }, preview),
  'size=medium': withFields({ size: 'medium' }),
  'size=hd': withFields({ size: 'hd' }),
  'size=4k': withFields({ size: '4k' }),
  'size=50MP': withFields({ size: '50MP' }),
  'size=full': withFields({ size: 'full' }),
  'size=auto': withFields({ size: 'auto' }),

  'format=png': withFields({ format: 'png' }),
  'format=jpg': withFields({ format: 'jpg' }, { format: 'jpeg', alpha: false }),
  'format=webp': withFields({ format: 'webp' }, { format: 'webp' }),
  'format=zip': {
    request: { image: 'photo', fields: { ...full, format: 'zip' } },
    expected: { status: 200, format: 'zip', names: ['color.jpg', 'alpha.png'] },
  },
  'format=auto': withFields({ format: 'auto' }),
  'channels=alpha': withFields({ channels: 'alpha' }, { alpha: false }),

  'bg_color by hexadecimal digits': withFields({ bg_color: '81d4fa' }, { format: 'jpeg', alpha: false }),
  'bg_color by short digits': withFields({ bg_color: '#fff' }, { format: 'jpeg', alpha: false }),
  'bg_color by name': withFields({ bg_color: 'green' }, { format: 'jpeg', alpha: false }),
  'bg_color with alpha': withFields({ bg_color: '81d4fa77', format: 'png' }),
  bg_image_file: {
    request: { image: 'photo', fields: full, withBackground: true },
    expected: { ...cutOut, format: 'jpeg', alpha: false },
  },

  'crop=true': withFields({ crop: 'true' }, { size: 'smaller' }),
  'crop_margin=10px': withFields({ crop: 'true', crop_margin: '10px' }, { size: 'smaller' }),
  'crop_margin with four values': withFields({ crop: 'true', crop_margin: '1% 2% 3% 4%' }, { size: 'smaller' }),
  'scale=80%': withFields({ scale: '80%' }),
  'scale and position': withFields({ scale: '50%', position: '25% 75%' }),
  'position=center': withFields({ position: 'center' }),
  'roi in percent': withFields({ roi: '10% 10% 90% 90%' }),
  'roi in pixels': withFields({ roi: '20px 20px 600px 400px' }),

  'type=person': withFields({ type: 'person' }),
  'type_level=2': withFields({ type_level: '2' }),
  'type_level=none': withFields({ type_level: 'none' }, { without: 'x-type' }),
  'semitransparency=false': withFields({ semitransparency: 'false' }),

  'add_shadow=true': withFields({ add_shadow: 'true' }),
  'shadow_type=auto': withFields({ shadow_type: 'auto' }),
  'shadow_type=drop': withFields({ shadow_type: 'drop' }),
  'shadow_type=car': withFields({ shadow_type: 'car' }),
  'shadow_type=3D': withFields({ shadow_type: '3D' }),
  'shadow_type=none': withFields({ shadow_type: 'none' }),
  'shadow_opacity=50': withFields({ shadow_type: 'drop', shadow_opacity: '50' }),
  'shadow_opacity out of range': refused({ image: 'photo', fields: { shadow_type: 'drop', shadow_opacity: '900' } }),

  'no image': refused({ fields: full }, 'missing_source'),
  'two images': refused(
    { image: 'photo', fields: { ...full, image_url: 'https://example.com/cat.jpg' } },
    'multiple_sources',
  ),
  'a file that is no image': refused({ image: 'text', fields: full }, 'invalid_file_type'),
  'a photo without a subject': refused({ image: 'plain', fields: full }, 'unknown_foreground'),
  'unknown size': refused({ image: 'photo', fields: { size: 'huge' } }),
  'unknown format': refused({ image: 'photo', fields: { format: 'bmp' } }),
  'unknown colour': refused({ image: 'photo', fields: { bg_color: 'chartreusish' } }),
  'malformed crop_margin': refused({ image: 'photo', fields: { crop: 'true', crop_margin: 'wide' } }),
  'malformed roi': refused({ image: 'photo', fields: { roi: '10% 20%' } }),
  'two backgrounds': refused({ image: 'photo', fields: { bg_color: 'red' }, withBackground: true }),
  'unknown path': refused({ path: '/v1.0/nothing' }, undefined, 404),

  'improve takes a photo': { request: { path: '/v1.0/improve', image: 'photo' }, expected: { status: 200 } },
  'six requests at once': { request: { image: 'photo', times: 6 }, expected: preview },
}

export const expectations: readonly Expectation[] = Object.entries(byName).map(([name, rest]) => ({ name, ...rest }))

/** A picture costs one credit. */
export const creditsMax = expectations
  .filter(({ request, expected }) => request.path === undefined && expected.status === 200)
  .reduce((sum, { request: { times = 1 } }) => sum + times, 0)
