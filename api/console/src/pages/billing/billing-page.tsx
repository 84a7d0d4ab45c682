import { useQuery } from '@tanstack/react-query'
import { useSession } from '../../session/use-session.ts'
import { settingsQuery } from '../../settings.ts'
import { useText } from '../../text/text.ts'
import { Page } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { billingText } from './billing-text.ts'
import { Invoices } from './invoices.tsx'
import { Offers } from './offers.tsx'
import { Orders } from './orders.tsx'
import { SubscriptionCard } from './subscription-card.tsx'

const payers = ['owner', 'billing']

/** Packs, plans, orders, invoices and refunds, for those who pay. */
export function BillingPage() {
  const text = useText(billingText)
  const session = useSession()
  const { data: settings } = useQuery(settingsQuery)
  const isPayer = session.kind === 'member' && payers.includes(session.role)
  if (settings?.payments === 'none') return <Unavailable title={text.noPayments} />
  if (!isPayer) return <Unavailable title={text.notPayer} />
  return (
    <Page title={text.title} lede={text.lede}>
      <SubscriptionCard />
      <Offers />
      <Orders />
      <Invoices />
    </Page>
  )
}

function Unavailable({ title }: { readonly title: string }) {
  const text = useText(billingText)
  return (
    <Page title={text.title}>
      <Empty title={title} />
    </Page>
  )
}
