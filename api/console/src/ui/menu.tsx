import type { ReactNode } from 'react'
import { Menu as AriaMenu, Button, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import buttons from './button.module.css'
import styles from './menu.module.css'

export type MenuAction = {
  readonly id: string
  readonly label: string
  readonly onAction: () => void
  readonly isDanger?: boolean
  readonly isDisabled?: boolean
}

type MenuProps = {
  /** Its name for assistive technology. */
  readonly label: string
  readonly trigger: ReactNode
  readonly actions: readonly MenuAction[]
}

export const Menu = ({ label, trigger, actions }: MenuProps) => (
  <MenuTrigger>
    <Button aria-label={label} className={`${buttons.button} ${buttons.quiet} ${buttons.small}`}>
      {trigger}
    </Button>
    <Popover className={styles.popover} placement="bottom end">
      <AriaMenu className={styles.menu} items={actions}>
        {({ id, label: name, onAction, isDanger = false, isDisabled = false }) => (
          <MenuItem
            id={id}
            textValue={name}
            onAction={onAction}
            isDisabled={isDisabled}
            className={`${styles.item} ${isDanger ? styles.danger : ''}`}
          >
            {name}
          </MenuItem>
        )}
      </AriaMenu>
    </Popover>
  </MenuTrigger>
)
