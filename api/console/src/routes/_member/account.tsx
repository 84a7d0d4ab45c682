import { createFileRoute } from '@tanstack/react-router'
import { readTab } from '../../app/read-tab.ts'
import { AccountPage } from '../../pages/account/account-page.tsx'

export const Route = createFileRoute('/_member/account')({ component: AccountPage, validateSearch: readTab })
