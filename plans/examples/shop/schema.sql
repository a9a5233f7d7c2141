-- A small shop, for MariaDB and MySQL. A system that needs other words has its own file: schema-SYSTEM.sql.
CREATE TABLE customers (
    id INT NOT NULL PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    region VARCHAR(20) NOT NULL,
    joined DATE
);
CREATE TABLE products (
    id INT NOT NULL PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    price DECIMAL(8, 2) NOT NULL,
    stock INT NOT NULL
);
CREATE TABLE orders (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer INT NOT NULL,
    product INT NOT NULL,
    quantity INT NOT NULL,
    placed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    note VARCHAR(80),
    FOREIGN KEY (customer) REFERENCES customers (id),
    FOREIGN KEY (product) REFERENCES products (id)
);
