// Settings of payments, the same for every process that takes a part: the API, the dispatcher and matte-admin.
import type { Db } from '../db/database.ts'
import type { InvoiceSeller } from '../db/tables/payment.ts'
import { ConfigError, flag, type Infer, int, json, optionalSecret, parsed, type Schema } from '../runtime/env.ts'
import type { MasterKeys } from '../runtime/seal.ts'
import type { Plans } from '../workspace/plan.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { PaymentMetrics } from './payment-metrics.ts'
import { defaultPacks, defaultPlanPrices, parsePacks, parsePlanPrices } from './prices.ts'
import { noProvider } from './provider/no-provider.ts'
import type { PaymentProvider } from './provider/provider.ts'
import { whyNotAtStripe } from './provider/stripe/stripe-amount.ts'

const providers = ['stripe', 'sandbox', 'none'] as const

export const paymentSettings = {
  paymentsProvider: parsed<(typeof providers)[number] | undefined>(
    'PAYMENTS_PROVIDER',
    {
      description:
        'who takes payments: stripe, sandbox (built in, no money) or none; sandbox in development, else none',
      default: undefined,
    },
    parseProvider,
  ),
  paymentsAllowSandboxInProduction: flag('PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION', {
    description: 'lets PAYMENTS_PROVIDER be sandbox in production, where credits then cost nothing',
    default: false,
  }),
  stripeSecretKey: optionalSecret('STRIPE_SECRET_KEY', {
    description: 'secret or restricted key of the Stripe account',
  }),
  stripeWebhookSecret: optionalSecret('STRIPE_WEBHOOK_SECRET', {
    description: 'signing secret of the endpoint at Stripe that sends events here, whsec_…',
  }),
  stripeApiBase: parsed(
    'STRIPE_API_BASE',
    { description: 'origin of the Stripe API; another one for trials alone', default: 'https://api.stripe.com' },
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
      description: 'who sells, on invoices: {"name","addressLines":[…],"taxId"}',
      default: { name: 'Matte', addressLines: [], taxId: null },
    },
    parseSeller,
  ),
  paymentsSelfRefundDays: int('PAYMENTS_SELF_REFUND_DAYS', {
    description: 'days after a payment in which members refund it themselves; 0: operators make all refunds',
    default: 14,
    min: 0,
    max: 365,
  }),
} as const satisfies Schema

type PaymentSettings = Infer<typeof paymentSettings>

type Surroundings = {
  readonly environment: 'development' | 'production'
  readonly plans: Plans
}

/** What the settings come to (D72). @throws ConfigError for what does not go together */
export function checkPayments(
  settings: PaymentSettings,
  { environment, plans }: Surroundings,
): PaymentProvider['name'] {
  const provider = settings.paymentsProvider ?? (environment === 'production' ? 'none' : 'sandbox')
  if (provider === 'sandbox' && environment === 'production' && !settings.paymentsAllowSandboxInProduction) {
    throw new ConfigError(
      'PAYMENTS_PROVIDER: sandbox takes no money, so production refuses it without ' +
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
    const reason = prices.map(whyNotAtStripe).find((each) => each !== undefined)
    if (reason !== undefined) throw new ConfigError(`${variable}: ${reason}`)
  }
}

type Opened = Surroundings & {
  readonly db: Db
  readonly metrics?: PaymentMetrics | undefined
  readonly masterKeys: MasterKeys
  readonly publicUrl: string
}

/** What the functions of this folder take. Rejects with a ConfigError as `checkPayments` throws it. */
export const openPayments = async (settings: PaymentSettings, opened: Opened): Promise<PaymentDeps> =>
  withProvider(settings, opened, await openProvider(settings, opened))

/** The same with a provider that is there already. */
export function withProvider(
  settings: PaymentSettings,
  { db, masterKeys, plans, metrics }: Pick<Opened, 'db' | 'masterKeys' | 'plans' | 'metrics'>,
  provider: PaymentProvider,
): PaymentDeps {
  const { creditPacks: packs, planPrices, invoiceSeller: seller, paymentsSelfRefundDays: selfRefundDays } = settings
  return { db, provider, plans, packs, planPrices, seller, selfRefundDays, masterKeys, metrics }
}

/** Loads the chosen one alone: Stripe's library holds megabytes, also where nothing is sold. */
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
    throw new Error('addressLines must be a list of texts')
  if (taxId !== null && !isText(taxId)) throw new Error('taxId must be a text')
  return { name, addressLines, taxId }
}
