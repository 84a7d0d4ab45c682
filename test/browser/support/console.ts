// The console of a test file: the whole service behind it, real but for the model server, and a browser in front.
import { readConfig } from '@matte/api/config'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { type MailServer, mailEnv, startMailServer } from '../../dispatcher/mail-server.ts'
import { givenPerson, type Person, type PersonOptions } from '../../support/app/people.ts'
import { givePassword, password } from '../../support/app/sign-in/given-password.ts'
import { type ReceivedMail, readMail } from '../../support/app/visitor/mailbox.ts'
import { type Fake, startFake } from '../../support/fake-triton.ts'
import { freePorts } from '../../support/free-ports.ts'
import type { Env, TestProcess } from '../../support/processes.ts'
import { type Stack, useStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'
import { type PageOptions, type Tabs, useBrowser } from './browser.ts'

export const operatorToken = 'test-operator-token-with-more-than-32-random-bytes'

export type Console = Tabs & {
  readonly stack: Stack
  readonly url: string
  /** The model server. */
  readonly fake: Fake
  /** A verified account with the password of the tests; by default `pro` with 100 credits. */
  person(options?: PersonOptions): Promise<Person>
  /** A page after a sign-in through the form, by default of a new person. */
  openSignedIn(options?: PageOptions & { readonly person?: Person }): Promise<Page>
  signIn(page: Page, person: Pick<Person, 'email'>): Promise<void>
  /** Waits for a mail to the address with these words in its subject. */
  untilMail(address: string, subject: string): Promise<ReceivedMail>
  /** Kills the API; it is started again at the end of the test at the latest. */
  killApi(): Promise<void>
  /** Starts the API again at its address. */
  restartApi(): Promise<void>
}

/** Use the result inside tests and hooks only. */
export function useConsole(apiSettings: Env = {}): Console {
  const stack = useStack({ processes: [] })
  let url = ''
  let fake: Fake | undefined
  let mails: MailServer | undefined
  const tabs = useBrowser(() => url)
  const apiEnv = (): Env => ({
    ...{ PORT: new URL(url).port, PUBLIC_URL: url, APP_URL: url, OPERATOR_TOKEN: operatorToken },
    ...{ OPEN_REQUESTS_PER_MINUTE: '1000000', MODELS_STATIC: modelsOf(fake) },
    ...apiSettings,
  })
  const startApi = (): Promise<TestProcess> => stack.start('api', apiEnv())
  let isApiDown = false
  const restartApi = async (): Promise<void> => {
    if (isApiDown) await startApi()
    isApiDown = false
  }
  beforeAll(async () => {
    const [port] = await freePorts(1)
    url = `http://127.0.0.1:${port}`
    fake = await startFake()
    mails = await startMailServer({ startTls: false })
    const { address } = fake
    const worker = await stack.start('worker', { MODELS_STATIC: modelsOf(fake) })
    await Promise.all([startApi(), stack.start('dispatcher', { ...mailEnv(mails.url), WEBHOOK_MAX_RETRIES: '1' })])
    await worker.untilLogged('pod ready', (line) => line.pod === address)
  })
  afterAll(() => Promise.all([fake?.kill(), mails?.close()]))

  async function signIn(page: Page, { email }: Pick<Person, 'email'>): Promise<void> {
    await page.goto('/sign-in')
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: `Account of ${email}` }).waitFor()
  }
  async function person(options?: PersonOptions): Promise<Person> {
    const someone = await givenPerson(
      stack.db,
      { url, config: readConfig({ ...stack.env('api'), ...apiEnv() }) },
      options,
    )
    await givePassword(stack.db, someone)
    return someone
  }
  return {
    ...tabs,
    stack,
    get url() {
      return url
    },
    get fake() {
      if (fake === undefined) throw new Error('the model server runs inside tests and hooks only')
      return fake
    },
    person,
    signIn,
    openSignedIn: async ({ person: known, ...options } = {}) => {
      const page = await tabs.open(options)
      await signIn(page, known ?? (await person()))
      return page
    },
    untilMail: (address, subject) =>
      until(`a mail to ${address}: ${subject}`, () =>
        (mails?.received ?? [])
          .filter(({ to }) => to === address)
          .map(readMail)
          .findLast((mail) => mail.subject.includes(subject)),
      ),
    killApi: async () => {
      await stack.process('api').kill('SIGKILL')
      isApiDown = true
      onTestFinished(restartApi)
    },
    restartApi,
  }
}

const modelsOf = (fake: Fake | undefined): string =>
  JSON.stringify([{ name: 'service-v2', tritonModel: 'u2netp', addresses: [fake?.address ?? ''], default: true }])
