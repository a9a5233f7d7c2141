-- A customer orders some of a product, if there are enough.
\set customer random(1, :customers)
\set product random_zipfian(1, :products, 1.1)
\set quantity random(1, 5)
BEGIN;
SELECT stock FROM products WHERE id = :product \gset
\if :stock >= :quantity
UPDATE products SET stock = stock - :quantity WHERE id = :product;
INSERT INTO orders (customer, product, quantity) VALUES (:customer, :product, :quantity);
\endif
COMMIT;
