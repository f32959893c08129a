// Flags for the Envoys that Gatehouse creates in a cluster.

import { onOff } from './flag.js'

/** Flags by the name of their property in Settings, as in FLAGS. */
export const PROVISION_FLAGS = {
  provision: onOff({
    commands: ['serve'],
    meaning:
      'with --kubernetes: create Envoys for each Gateway that has none, which reach Gatehouse at --connect, and remove them with it',
  }),
}
