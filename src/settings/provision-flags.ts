// Flags for the Envoys that Gatehouse creates in a cluster.

import { one, onOff } from './flag.js'
import { readText } from './values.js'

/** Flags by the name of their property in Settings, as in FLAGS. */
export const PROVISION_FLAGS = {
  provision: onOff({
    commands: ['serve'],
    meaning:
      'with --kubernetes: create Envoys for each Gateway that has none, which reach Gatehouse at --connect, and remove them with it',
  }),
  connectCa: one(readText, {
    value: 'FILE',
    commands: ['serve'],
    meaning:
      'with --provision and --connect-tls: the authorities (PEM) by which created Envoys check the certificate of the gRPC address, read again when the file changes; Gatehouse knows the Envoys by tokens of their service accounts',
  }),
}
