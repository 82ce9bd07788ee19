import type { VNode, Child } from "./preact.js";
declare const htm: {
  bind(h: (type: unknown, props: Record<string, unknown> | null, ...children: Child[]) => VNode):
    (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
};
export default htm;
