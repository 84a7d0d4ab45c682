// A browser for server-rendered pages: follows links, fills forms and presses buttons, without JavaScript or cookies.
// It sends the headers of a browser that submits a form from a page without a referrer.

export type ShownPage = {
  readonly status: number
  readonly headers: Headers
  readonly html: string
  /** Text of the heading. */
  readonly heading: string
  /** Text of the whole page. */
  readonly text: string
  /** Submits the only form with its hidden fields; `button` is the value of the pressed button. */
  submit(fields?: Fields, options?: SubmitOptions): Promise<ShownPage>
  /** Follows the link with this label. */
  follow(label: string): Promise<ShownPage>
}

type Fields = Readonly<Record<string, string>>
type SubmitOptions = { readonly button?: string; readonly headers?: Fields }

export async function visit(url: string, init: RequestInit = {}): Promise<ShownPage> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const html = await response.text()
  const at = (path: string): string => new URL(path, url).href
  return {
    status: response.status,
    headers: response.headers,
    html,
    heading: textOf(/<h1>(.*?)<\/h1>/s.exec(html)?.[1] ?? ''),
    text: textOf(html.replace(/^.*?<body>/s, '')),
    submit: (fields = {}, { button, headers } = {}) => {
      const form = formOf(html)
      const pressed = button === undefined ? {} : { [form.buttonName]: button }
      return visit(at(form.action), post({ ...form.hidden, ...fields, ...pressed }, headers))
    },
    follow: (label) => {
      const links = [...html.matchAll(/<a href="([^"]*)">(.*?)<\/a>/gs)]
      const link = links.find(([, , text = '']) => textOf(text) === label)
      if (link?.[1] === undefined) throw new Error(`the page has no link ${label}`)
      return visit(at(decode(link[1])))
    },
  }
}

const post = (fields: Fields, headers: Fields = {}): RequestInit => ({
  method: 'POST',
  headers: { origin: 'null', 'sec-fetch-site': 'same-origin', ...headers },
  body: new URLSearchParams(fields),
})

function formOf(html: string) {
  const [, action, content = ''] = /<form method="post" action="([^"]*)">(.*?)<\/form>/s.exec(html) ?? []
  if (action === undefined) throw new Error('the page has no form')
  const hidden = [...content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)]
  const [, buttonName = ''] = /<button name="([^"]*)"/.exec(content) ?? []
  const values = hidden.map(([, name = '', value = '']) => [decode(name), decode(value)] as const)
  return { action: decode(action), hidden: Object.fromEntries(values), buttonName }
}

const textOf = (html: string): string =>
  decode(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()

const decode = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_entity, name: string) => entities[name] ?? '')

const entities: Fields = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
