import type { Db } from '@matte/core/db/database'
import type { InvoiceSeller } from '@matte/core/db/tables/payment'
import { MatteError } from '@matte/core/error'
import { ConfigError, flag, type Infer, int, json, optionalSecret, parsed, type Schema } from '@matte/core/runtime/env'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Plans } from '@matte/core/workspace/plan'
import type { PaymentDeps, PaymentMetrics } from './payment-deps.ts'
import { defaultPacks, defaultPlanPrices, parsePacks, parsePlanPrices } from './prices.ts'
import type { PaymentProvider } from './provider/provider.ts'
import { unsupportedAtStripe } from './provider/stripe/stripe-amount.ts'

const providers = ['stripe', 'sandbox', 'none'] as const

export const paymentSettings = {
  paymentsProvider: parsed<(typeof providers)[number] | undefined>(
    'PAYMENTS_PROVIDER',
    {
      description: 'payment provider: stripe, sandbox (built in, no money) or none; sandbox in development, else none',
      default: undefined,
    },
    parseProvider,
  ),
  paymentsAllowSandboxInProduction: flag('PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION', {
    description: 'allows PAYMENTS_PROVIDER=sandbox in production, where credits then cost nothing',
    default: false,
  }),
  stripeSecretKey: optionalSecret('STRIPE_SECRET_KEY', {
    description: 'secret or restricted key of the Stripe account',
  }),
  stripeWebhookSecret: optionalSecret('STRIPE_WEBHOOK_SECRET', {
    description: 'signing secret of the Stripe endpoint that sends events here, whsec_…',
  }),
  stripeApiBase: parsed(
    'STRIPE_API_BASE',
    { description: 'origin of the Stripe API; change it only for tests', default: 'https://api.stripe.com' },
    parseOrigin,
  ),
  creditPacks: json(
    'CREDIT_PACKS',
    {
      description:
        'packs on sale: [{"id","name","credits","amount","currency","expiresAfterDays"}], amounts in minor units',
      default: defaultPacks,
    },
    parsePacks,
  ),
  planPrices: json(
    'PLAN_PRICES',
    {
      description: 'plans on sale: [{"plan","interval":"month"|"year","amount","currency"}], amounts in minor units',
      default: defaultPlanPrices,
    },
    parsePlanPrices,
  ),
  invoiceSeller: json<InvoiceSeller>(
    'INVOICE_SELLER',
    {
      description: 'seller on invoices: {"name","addressLines":[…],"taxId"}',
      default: { name: 'Matte', addressLines: [], taxId: null },
    },
    parseSeller,
  ),
  paymentsSelfRefundDays: int('PAYMENTS_SELF_REFUND_DAYS', {
    description: 'days in which members can refund a payment themselves; 0: only operators refund',
    default: 14,
    min: 0,
    max: 365,
  }),
} as const satisfies Schema

type PaymentSettings = Infer<typeof paymentSettings>

export const accountsSetting = {
  accountsEnabled: flag('ACCOUNTS_ENABLED', {
    description:
      'accounts, teams, payments and mail; false: API keys by matte-admin, the Developer API alone, no /api/v1/app',
    default: true,
  }),
} as const satisfies Schema

type Surroundings = {
  readonly environment: 'development' | 'production'
  readonly plans: Plans
  readonly accountsEnabled: boolean
}

/** Returns the provider that the settings select. @throws ConfigError for settings that contradict each other */
export function checkPayments(
  settings: PaymentSettings,
  { environment, plans, accountsEnabled }: Surroundings,
): PaymentProvider['name'] {
  const provider = settings.paymentsProvider ?? (environment === 'production' || !accountsEnabled ? 'none' : 'sandbox')
  if (provider !== 'none' && !accountsEnabled) {
    throw new ConfigError(
      `PAYMENTS_PROVIDER is ${provider} and ACCOUNTS_ENABLED is false: end all subscriptions ` +
        '(matte-admin subscription end), then set PAYMENTS_PROVIDER to none',
    )
  }
  if (provider === 'sandbox' && environment === 'production' && !settings.paymentsAllowSandboxInProduction) {
    throw new ConfigError(
      'PAYMENTS_PROVIDER: sandbox takes no money, so production requires ' +
        'PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION=true',
    )
  }
  if (provider === 'stripe' && !(settings.stripeSecretKey && settings.stripeWebhookSecret)) {
    throw new ConfigError('PAYMENTS_PROVIDER: stripe needs STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET')
  }
  if (provider === 'stripe') refuseAtStripe(settings)
  const unknown = settings.planPrices.find(({ plan }) => !Object.hasOwn(plans, plan))
  if (unknown !== undefined) throw new ConfigError(`PLAN_PRICES: plan ${unknown.plan} is not in PLANS`)
  return provider
}

function refuseAtStripe({ creditPacks, planPrices }: PaymentSettings): void {
  const sold = { CREDIT_PACKS: creditPacks, PLAN_PRICES: planPrices }
  for (const [variable, prices] of Object.entries(sold)) {
    const reason = prices.map(unsupportedAtStripe).find((each) => each !== undefined)
    if (reason !== undefined) throw new ConfigError(`${variable}: ${reason}`)
  }
}

type Opened = Surroundings & {
  readonly db: Db
  readonly metrics?: PaymentMetrics | undefined
  readonly masterKeys: MasterKeys
  readonly publicUrl: string
}

export const openPayments = async (settings: PaymentSettings, opened: Opened): Promise<PaymentDeps> =>
  withProvider(settings, opened, await openProvider(settings, opened))

export function withProvider(
  settings: PaymentSettings,
  { db, masterKeys, plans, metrics }: Pick<Opened, 'db' | 'masterKeys' | 'plans' | 'metrics'>,
  provider: PaymentProvider,
): PaymentDeps {
  const { creditPacks: packs, planPrices, invoiceSeller: seller, paymentsSelfRefundDays: selfRefundDays } = settings
  return { db, provider, plans, packs, planPrices, seller, selfRefundDays, masterKeys, metrics }
}

/** Loads only the selected provider: Stripe's library takes megabytes. */
async function openProvider(settings: PaymentSettings, opened: Opened): Promise<PaymentProvider> {
  const { db, masterKeys, publicUrl, ...around } = opened
  const name = checkPayments(settings, around)
  if (name === 'none') return noProvider
  if (name === 'sandbox') {
    const { sandboxProvider } = await import('./provider/sandbox/sandbox-provider.ts')
    return sandboxProvider({ db, masterKeys, publicUrl })
  }
  const { stripeSecretKey: secretKey = '', stripeWebhookSecret: webhookSecret = '', stripeApiBase: apiBase } = settings
  const { stripeProvider } = await import('./provider/stripe/stripe-provider.ts')
  return stripeProvider({ secretKey, webhookSecret, apiBase })
}

function parseProvider(value: string): (typeof providers)[number] {
  const known = providers.find((each) => each === value)
  if (known === undefined) throw new Error(`must be one of ${providers.join(', ')}`)
  return known
}

function parseOrigin(value: string): string {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('must be an http or https URL')
  return url.origin
}

function parseSeller(value: unknown): InvoiceSeller {
  const { name, addressLines = [], taxId = null } = (value ?? {}) as Record<string, unknown>
  const isText = (each: unknown): each is string => typeof each === 'string'
  if (!isText(name) || name === '') throw new Error('needs a name')
  if (!Array.isArray(addressLines) || !addressLines.every(isText))
    throw new Error('addressLines must be a list of strings')
  if (taxId !== null && !isText(taxId)) throw new Error('taxId must be a string')
  return { name, addressLines, taxId }
}

const refuse = (): never => {
  throw new MatteError('CONFLICT', 'This installation takes no payments.', { details: { provider: 'none' } })
}

/** Payments are disabled; every change is rejected. */
export const noProvider: PaymentProvider = {
  name: 'none',
  createCheckout: refuse,
  endCheckout: refuse,
  getOrder: refuse,
  read: refuse,
  refund: refuse,
  changeSubscription: refuse,
  cancelSubscription: refuse,
  resumeSubscription: refuse,
  endSubscription: refuse,
  signatureHeader: '',
  verifyEvent: refuse,
}
