import { useQuery } from '@tanstack/react-query'
import type { App } from 'matte-client/app'
import { useApp } from '../../session/use-session.ts'
import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, ErrorNote, Loaded } from '../../ui/states.tsx'
import { useAction } from '../../ui/use-action.ts'
import { useRequestKey } from '../../ui/use-request-key.ts'
import { billingText } from './billing-text.ts'
import styles from './offers.module.css'

/** Credit packs and plans. An order leads to the payment page of the provider. */
export function Offers() {
  const app = useApp()
  const text = useText(billingText)
  const packs = useQuery({ queryKey: ['packs'], queryFn: () => app.list('/app/payments/credit-packs').all() })
  const plans = useQuery({ queryKey: ['plans'], queryFn: () => app.list('/app/payments/plans').all() })
  const keys = useRequestKey()
  const order = useAction(async (body: App.CreateOrderRequest) => {
    const placed = await app.request('POST', '/app/payments/orders', { body, idempotencyKey: keys.keyFor(body) })
    keys.forget()
    if (placed.checkoutUrl !== null) location.assign(placed.checkoutUrl)
  })
  return (
    <>
      <Card title={text.packs}>
        <Loaded query={packs}>
          {(list) =>
            list.length === 0 ? (
              <Empty title={text.noPacks} />
            ) : (
              <ul className={styles.offers}>
                {list.map((pack) => (
                  <PackOffer
                    key={pack.id}
                    pack={pack}
                    isPending={order.isPending}
                    onOrder={() => void order.run({ kind: 'pack', packId: pack.id })}
                  />
                ))}
              </ul>
            )
          }
        </Loaded>
        {order.error !== undefined && <ErrorNote error={order.error} />}
      </Card>
      <Card title={text.plans}>
        <Loaded query={plans}>
          {(list) =>
            list.length === 0 ? (
              <Empty title={text.noPlans} />
            ) : (
              <ul className={styles.offers}>
                {list.map((plan) => (
                  <PlanOffer
                    key={`${plan.plan} ${plan.interval}`}
                    offer={plan}
                    isPending={order.isPending}
                    onOrder={() => void order.run({ kind: 'subscription', plan: plan.plan, interval: plan.interval })}
                  />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
    </>
  )
}

type OfferProps = { readonly isPending: boolean; readonly onOrder: () => void }

function PackOffer({ pack, isPending, onOrder }: OfferProps & { readonly pack: App.CreditPack }) {
  const text = useText(billingText)
  const format = useFormat()
  const { name, credits, amount, currency, expiresAfterDays } = pack
  return (
    <li className={styles.offer}>
      <h3>{name}</h3>
      <p className="figure">{format.money(amount, currency)}</p>
      <p>{text.creditsOf(format.number(credits))}</p>
      <p className={styles.soft}>{text.each(format.money(amount / credits, currency))}</p>
      <p className={styles.soft}>
        {expiresAfterDays === null ? text.noExpiry : text.expiresAfter(format.number(expiresAfterDays))}
      </p>
      <Button look="primary" isPending={isPending} onPress={onOrder} aria-label={text.buyOf(name)}>
        {text.buy}
      </Button>
    </li>
  )
}

function PlanOffer({ offer, isPending, onOrder }: OfferProps & { readonly offer: App.PlanOffer }) {
  const text = useText(billingText)
  const format = useFormat()
  const { plan, interval, amount, currency, monthlyCredits, concurrentTasks, batchLimit, requestsPerMinute } = offer
  return (
    <li className={styles.offer}>
      <h3 className={styles.plan}>{plan}</h3>
      <p>
        <span className="figure">{format.money(amount, currency)}</span> {text.intervals[interval]}
      </p>
      <ul className={styles.facts}>
        <li>{text.monthlyCredits(format.number(monthlyCredits))}</li>
        <li>{text.concurrent(format.number(concurrentTasks))}</li>
        <li>{text.perMinute(format.number(requestsPerMinute))}</li>
        {batchLimit > 0 && <li>{text.batch(format.number(batchLimit))}</li>}
      </ul>
      <Button isPending={isPending} onPress={onOrder} aria-label={text.subscribeTo(plan)}>
        {text.subscribe}
      </Button>
    </li>
  )
}
